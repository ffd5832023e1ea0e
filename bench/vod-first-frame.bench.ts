import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Arm, Bench } from "./harness/bench.ts";
import { ffmpeg, ffmpegVersion, makeSourceClip } from "./vod-ladder/source-clip.ts";
import { startDecoder } from "./vod/decoder.ts";
import { startPlaying } from "./vod/player.ts";
import { startVideoServer, type VideoServer } from "./vod/server.ts";

const BASE_SECONDS = 10;

/**
 * Seconds from the last byte of an upload until the first frame is decoded and the first audio has arrived, through the
 * whole server: TUS, probing, manifests, the encoder. Compared with one ffmpeg that first encodes the whole file at
 * 360p, like servers that encode whole renditions; the same decoder takes the first frame of its output.
 *
 * Profile of `s60` on two idle cores, in milliseconds after the last byte: ffprobe starts at 16 and ends at 145, ffmpeg
 * starts at 154, the manifest is available at 168, the initialization segment at 402, the first audio segment at 462,
 * the first chunk of video at 621, and its first frame is decoded at 633. The whole segment arrives at 1,293. CPU time
 * until the first frame, in seconds: ffprobe 0.10, video 0.44, audio 0.30 for the first three segments. The whole
 * segment needs 1.55 instead of 0.44, so delivery in chunks reduced the sum from 1.95 to 0.84.
 *
 * Starting ffprobe or ffmpeg takes 0.08 of CPU time, almost half of it in the dynamic loader: Debian's build loads 215
 * libraries and resolves all symbols at startup. The sandbox adds about 0.02. No step waits for a poll: the job starts
 * as soon as it is queued, and 9 ms lie between the end of ffprobe and the start of ffmpeg.
 */
const bench: Bench = {
  name: "vod-first-frame",
  async setup(kit) {
    kit.say("creating 1080p clips");
    const base = await makeSourceClip(kit.dir, BASE_SECONDS);
    const looped = async (seconds: number) => {
      const path = join(kit.dir, `clip-${seconds}.mp4`);
      await ffmpeg([
        "-stream_loop",
        String(seconds / BASE_SECONDS - 1),
        "-i",
        base,
        "-c",
        "copy",
        "-movflags",
        "+faststart",
        path,
      ]);
      return path;
    };
    const clips = { s10: base, s60: await looped(60), s600: await looped(600) };
    const encoding = await startVideoServer(kit, "encoding", { REELPOST_STREAM_PASSTHROUGH: "false" });
    const passing = await startVideoServer(kit, "passing");
    return {
      peers: { ffmpeg: await ffmpegVersion() },
      arms: [
        ...Object.entries(clips).map(([name, clip]) => firstFrame(name, encoding, clip, "360p")),
        firstFrame("passthrough_s60", passing, clips.s60, "source"),
        {
          name: "whole file, 60 s",
          unit: "s",
          async sample() {
            const started = performance.now();
            const path = join(kit.dir, "whole.mp4");
            await ffmpeg([
              "-i",
              clips.s60,
              "-vf",
              "scale=-2:360",
              "-c:v",
              "libx264",
              "-preset",
              "veryfast",
              "-crf",
              "23",
              "-maxrate",
              "800k",
              "-bufsize",
              "1600k",
              "-g",
              "120",
              "-c:a",
              "aac",
              "-b:a",
              "128k",
              "-movflags",
              "+faststart",
              path,
            ]);
            const decoder = startDecoder();
            createReadStream(path).pipe(decoder.input);
            return ((await decoder.firstFrame) - started) / 1000;
          },
        },
      ],
      figures: (of) => ({
        s10: of("s10"),
        s60: of("s60"),
        s600: of("s600"),
        passthrough_s60: of("passthrough_s60"),
        ratio_vs_whole_file_60: of("s60") / of("whole file, 60 s"),
        whole_file_60_s: of("whole file, 60 s"),
      }),
    };
  },
};
export default bench;

const firstFrame = (name: string, server: VideoServer, clip: string, variant: string): Arm => ({
  name,
  unit: "s",
  async sample() {
    const { uid, sent } = await server.upload(clip);
    const start = await startPlaying(server.url, uid);
    if (start.variant !== variant) throw new Error(`players start with ${start.variant} instead of ${variant}`);
    await server.remove(uid);
    return (start.at - sent) / 1000;
  },
});
