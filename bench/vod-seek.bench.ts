import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./harness/bench.ts";
import { ffmpeg, ffmpegVersion, makeSourceClip } from "./vod-ladder/source-clip.ts";
import { startDecoder } from "./vod/decoder.ts";
import { firstFrame, startPlaying, timeReceived } from "./vod/player.ts";
import { startVideoServer } from "./vod/server.ts";

const BASE_SECONDS = 10;
const SECONDS = 600;
const SEGMENT_SECONDS = 4;
const SEEKS = 20;
/** How long a viewer watches between two seeks. */
const LOOK_MS = 400;

/**
 * Seconds from a seek to a position that has not been encoded until the first frame is decoded and the audio has
 * arrived: 360p and audio, through the whole server, in a ten-minute film that was just uploaded and whose ladder is
 * still being encoded. Compared with ffmpeg alone encoding the same four seconds on the otherwise idle machine, from
 * whose complete output the same decoder takes the first frame; `limit_s`: the decoder reads it while it is encoded.
 *
 * Profile of one 360p segment from this film, in CPU seconds of ffmpeg: 2.05 in total, of which the first frame takes
 * 0.80, 8 frames 0.84, 16 frames 0.93 and 32 frames 1.11. Starting ffmpeg and opening the file takes 0.13, and decoding
 * from the preceding key frame of the source, 1.8 s earlier, to the first frame of the segment about 0.4, which the
 * source determines.
 *
 * Delivery in chunks, the first of 8 frames, needs 0.41 of the CPU time of the whole segment. Tried and dropped: x264
 * without lookahead (0.78 instead of 0.84, at the cost of quality); decoding without the frame rate probe, or with one
 * thread (within the noise).
 *
 * Audio competes with the first chunk of video: a run of one segment takes 0.30 of CPU time, a run of three 0.46. While
 * a viewer waits for video, only the requested segment is therefore encoded.
 *
 * In our player, which this benchmark does not run, the median of 14 seeks in Chromium went from 1.36 s to 0.92 s when
 * it began to append chunks, with a server that sends the first chunk after 0.45 s and the last one after 1.12 s; with
 * the fetch loader of hls.js, which collects 128 KiB first, to 1.16 s.
 */
const bench: Bench = {
  name: "vod-seek",
  async setup(kit) {
    const base = await makeSourceClip(kit.dir, BASE_SECONDS);
    const film = join(kit.dir, "film.mp4");
    await ffmpeg([
      "-stream_loop",
      String(SECONDS / BASE_SECONDS - 1),
      "-i",
      base,
      "-c",
      "copy",
      "-movflags",
      "+faststart",
      film,
    ]);
    const server = await startVideoServer(kit, "server", { REELPOST_STREAM_PASSTHROUGH: "false" });
    let all: number[] = [];
    return {
      peers: { ffmpeg: await ffmpegVersion() },
      arms: [
        {
          name: "seeks",
          unit: "s (p95)",
          async sample() {
            const { uid } = await server.upload(film);
            await startPlaying(server.url, uid);
            // Each target is in the second half, which is encoded last, and far enough from the previous one that it
            // has not been prefetched.
            const targets = Array.from({ length: SEEKS }, (_, i) => 75 + ((i * 29) % 72));
            all = [];
            for (const n of targets) {
              const started = performance.now();
              const at = (rendition: string, file: string) => `${server.url}/${uid}/segments/${rendition}/${file}`;
              const times = await Promise.all([
                firstFrame(at("360p", "init.mp4"), at("360p", `${n}.m4s`)),
                timeReceived(at("audio", `${n}.m4s`)),
              ]);
              all.push((Math.max(...times) - started) / 1000);
              await sleep(LOOK_MS);
            }
            await server.remove(uid);
            return at(all, 0.95);
          },
        },
        {
          name: "ffmpeg alone",
          unit: "s",
          async sample() {
            const started = performance.now();
            const path = join(kit.dir, "alone.mp4");
            await ffmpeg([...encodeArgs(film), path]);
            const decoder = startDecoder();
            decoder.input.end(await readFile(path));
            return ((await decoder.firstFrame) - started) / 1000;
          },
        },
        {
          name: "ffmpeg, decoded while encoding",
          unit: "s",
          async sample() {
            const decoder = startDecoder();
            const started = performance.now();
            const encoder = spawn("ffmpeg", ["-v", "error", "-nostdin", ...encodeArgs(film), "pipe:1"], {
              stdio: ["ignore", "pipe", "inherit"],
            });
            encoder.stdout.pipe(decoder.input);
            const closed = once(encoder, "close");
            const at = await decoder.firstFrame;
            encoder.kill("SIGKILL");
            await closed;
            return (at - started) / 1000;
          },
        },
      ],
      figures: (of) => ({
        p95_s: of("seeks"),
        p50_s: at(all, 0.5),
        ffmpeg_alone_s: of("ffmpeg alone"),
        limit_s: of("ffmpeg, decoded while encoding"),
        p95_vs_alone: of("seeks") / of("ffmpeg alone"),
        p50_vs_alone: at(all, 0.5) / of("ffmpeg alone"),
      }),
    };
  },
};
export default bench;

const encodeArgs = (film: string) => [
  "-ss",
  "400",
  "-i",
  film,
  "-t",
  String(SEGMENT_SECONDS),
  "-vf",
  "scale=640:360:flags=bicubic",
  "-c:v",
  "libx264",
  "-preset",
  "veryfast",
  "-crf",
  "23",
  "-an",
  "-f",
  "mp4",
  "-movflags",
  "+empty_moov+default_base_moof+frag_every_frame",
];

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)]!;
