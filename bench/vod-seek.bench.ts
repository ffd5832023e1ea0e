import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./harness/bench.ts";
import { ffmpeg, ffmpegVersion, makeSourceClip } from "./vod-ladder/source-clip.ts";
import { startPlaying, take } from "./vod/player.ts";
import { startVideoServer } from "./vod/server.ts";

const BASE_SECONDS = 10;
const SECONDS = 600;
const SEGMENT_SECONDS = 4;
const SEEKS = 20;
/** How long a viewer watches between two seeks. */
const LOOK_MS = 400;

/**
 * Seconds a viewer waits after seeking to a position that has not been encoded, in a ten-minute film that was just
 * uploaded and whose ladder is still being encoded: 360p and audio, through the whole server. Compared with ffmpeg
 * alone encoding the same four seconds on the otherwise idle machine.
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
              await Promise.all(
                ["360p", "audio"].map((rendition) => take(`${server.url}/${uid}/segments/${rendition}/${n}.m4s`)),
              );
              all.push((performance.now() - started) / 1000);
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
            await ffmpeg([
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
              join(kit.dir, "alone.mp4"),
            ]);
            return (performance.now() - started) / 1000;
          },
        },
      ],
      figures: (of) => ({ p95_s: of("seeks"), p50_s: at(all, 0.5), ffmpeg_alone_s: of("ffmpeg alone") }),
    };
  },
};
export default bench;

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)]!;
