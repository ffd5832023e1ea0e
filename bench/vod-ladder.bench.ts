import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./harness/bench.ts";
import { ffmpeg, ffmpegVersion, makeSourceClip } from "./vod-ladder/source-clip.ts";
import { openPipeline } from "./vod-ladder/pipeline.ts";

const SECONDS = 32;
const RUNGS = [
  [1920, 1080, 5000],
  [1280, 720, 2800],
  [854, 480, 1400],
  [640, 360, 800],
  [426, 240, 400],
] as const;

/**
 * CPU time from an upload to its complete ladder (probe, first segments, chunks, audio, all storage), compared with one
 * bare ffmpeg that encodes the same renditions in one run, decoding once and scaling from rung to rung: the minimum for
 * this work with this encoder.
 */
const bench: Bench = {
  name: "vod-ladder",
  async setup(kit) {
    kit.say(`creating ${SECONDS} s of 1080p video`);
    const source = await makeSourceClip(kit.dir, SECONDS);
    // Bubblewrap exits before its sandboxed process, so the system does not attribute that CPU time to any parent. Its
    // own cost is a hundredth of a second.
    const pipeline = await openPipeline(kit, { sandbox: "prlimit" });
    let wall = 0;
    return {
      peers: { ffmpeg: await ffmpegVersion() },
      arms: [
        {
          name: "reelpost",
          unit: "CPU-s",
          async sample() {
            const before = cpuSecondsOfAll();
            const started = performance.now();
            const uid = await pipeline.upload(source);
            const { model } = await pipeline.until(uid, ({ state }) => state === "ready");
            wall = (performance.now() - started) / 1000;
            const used = cpuSecondsOfAll() - before;
            const rungs = model!.ladder
              .map(({ width, height }) => `${width}x${height}`)
              .toReversed()
              .join(" ");
            const expected = RUNGS.map(([width, height]) => `${width}x${height}`).join(" ");
            if (rungs !== expected || model!.segments.frames !== SECONDS * 30)
              throw new Error(
                `${model!.segments.frames} frames of ${rungs} were encoded instead of ${SECONDS * 30} of ${expected}`,
              );
            await pipeline.remove(uid);
            return used;
          },
        },
        {
          name: "ffmpeg",
          unit: "CPU-s",
          async sample() {
            const before = cpuSecondsOfAll();
            await ffmpeg(cascade(source, kit.dir));
            return cpuSecondsOfAll() - before;
          },
        },
      ],
      figures: (of) => ({
        cpu_ratio: of("reelpost") / of("ffmpeg"),
        reelpost_cpu_s: of("reelpost"),
        ffmpeg_cpu_s: of("ffmpeg"),
        reelpost_wall_s: wall,
      }),
    };
  },
};
export default bench;

function cascade(source: string, folder: string): string[] {
  const steps = RUNGS.map(
    ([width, height], i) =>
      `[${i === 0 ? "0:v" : `n${i}`}]scale=${width}:${height}:flags=bicubic,format=yuv420p${i === RUNGS.length - 1 ? `[r${i}]` : `,split[r${i}][n${i + 1}]`}`,
  );
  const outputs = RUNGS.flatMap(([, height, kilobits], i) => [
    "-map",
    `[r${i}]`,
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-crf",
    "23",
    "-maxrate",
    `${kilobits}k`,
    "-bufsize",
    `${2 * kilobits}k`,
    "-profile:v",
    "high",
    "-g",
    "120",
    "-keyint_min",
    "120",
    "-sc_threshold",
    "0",
    join(folder, `raw-${height}.mp4`),
  ]);
  return [
    "-i",
    source,
    "-filter_complex",
    steps.join(";"),
    ...outputs,
    "-map",
    "0:a",
    "-c:a",
    "aac",
    "-b:a",
    "128k",
    "-ac",
    "2",
    join(folder, "raw-audio.m4a"),
  ];
}

/**
 * CPU time of this process and of all its exited children (proc_pid_stat(5)), in hundredths of a second, `getconf
 * CLK_TCK`.
 */
function cpuSecondsOfAll(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}
