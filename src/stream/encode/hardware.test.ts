import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { clip, countFrames, needsPrograms } from "../../../test/support/media.ts";
import { silentLog } from "../../kernel/index.ts";
import { installedProgram, temporaryFolder } from "../media/runs.testing.ts";
import { measurePsnr, modelOf, openEncoder, rung } from "./encode.testing.ts";
import { includesParameterSets } from "./parameter-sets.ts";
import { createSegments } from "./segments.ts";

const ladder = [rung("180p", 320, 180), rung("360p", 640, 360)];
const model = {
  ...modelOf({ seconds: 4, segmentSeconds: 1, size: [640, 360], ladder, audio: false }),
  h264Encoder: "h264_nvenc",
} as const;

/**
 * Opens an encoder whose ffmpeg behaves as on a machine with a hardware encoder: x264 with other options takes its
 * folder. While the hardware hangs, it writes nothing and does not end.
 */
async function openHardware(t: TestContext) {
  const folder = await temporaryFolder(t);
  await chmod(folder, 0o755);
  const ffmpeg = join(folder, "ffmpeg");
  const marker = join(folder, "hangs");
  const real = installedProgram("ffmpeg");
  await writeFile(
    ffmpeg,
    `#!/bin/sh
case "$*" in
*-encoders*) echo ' V....D h264_nvenc  x';;
*testsrc2*h264_nvenc*) echo moof; echo moof; exit 0;;
*h264_nvenc*)
  if [ -e ${marker} ]; then exec sleep 600; fi
  for arg do
    shift
    case "$arg" in
    h264_nvenc) set -- "$@" libx264 -sc_threshold 0 -refs 1;;
    p4) set -- "$@" veryfast;;
    *) set -- "$@" "$arg";;
    esac
  done;;
esac
exec ${real} "$@"
`,
    { mode: 0o755 },
  );
  const errors: unknown[][] = [];
  const world = await openEncoder(t, {
    media: { ffmpeg, encoder: "auto", sandbox: "prlimit" },
    log: { ...silentLog, error: (...line: unknown[]) => void errors.push(line) },
  });
  const { h264 } = await world.tools.ready();
  assert.equal((await h264.tested).encoder, "h264_nvenc");
  /** Shares everything with `segments`, but waits less for the hardware: a busy machine may be slow. */
  const shortWait = createSegments({ ...world.parts, stallMs: 300 });
  t.after(() => shortWait.close());
  return {
    ...world,
    shortWait,
    errors,
    h264,
    hang: () => writeFile(marker, "", { mode: 0o644 }),
    encoders: () => world.runs.map((args) => (args.includes("h264_nvenc") ? "hardware" : "software")),
  };
}

test(
  "the software encoder continues a video whose hardware encoder hangs, and the process uses it from then on",
  needsPrograms("ffmpeg", "prlimit"),
  async (t) => {
    const { video, segments, shortWait, bytesOf, whole, encoders, errors, h264, hang } = await openHardware(t);
    const source = await clip({ size: "640x360", audio: false });
    const of = await video(source, { ...model, softwareFallback: true });
    const options = { lookahead: false };
    await segments.get(of, "180p", 0, options);
    await segments.encodeMissing(of, [1], { signal: new AbortController().signal });
    const init = await bytesOf(of, "180p", "init");
    assert.deepEqual(encoders(), ["software", "hardware", "software", "hardware"]);

    await hang();
    await shortWait.encodeMissing(of, [2], { signal: new AbortController().signal });
    assert.deepEqual(encoders().slice(4), ["hardware", "software"]);
    assert.equal(h264.selected().encoder, "libx264");
    assert.deepEqual(errors, [
      [
        { encoder: "h264_nvenc" },
        "encode: hardware encoder stopped responding; this process uses the software encoder",
      ],
    ]);
    await segments.get(of, "180p", 3, options);
    assert.deepEqual(encoders().slice(6), ["software"]);
    assert.deepEqual(await bytesOf(of, "180p", "init"), init);
    const path = await whole(of, "180p");
    assert.equal(await countFrames(path), 120);
    const similarity = await measurePsnr(path, source);
    assert.ok(Math.min(...similarity) > 25, String(Math.min(...similarity)));
  },
);

test(
  "a video whose first run hangs is encoded by software, also in a process whose hardware encoder works",
  needsPrograms("ffmpeg", "prlimit"),
  async (t) => {
    const first = await openHardware(t);
    const path = await clip({ size: "640x360", audio: false });
    const of = await first.video(path, { ...model, softwareFallback: true });
    await first.hang();
    await first.shortWait.get(of, "180p", 0, { lookahead: false });
    assert.equal(first.h264.selected().encoder, "libx264");

    const second = await openHardware(t);
    const init = await first.bytesOf(of, "180p", "init");
    await second.video(path, model);
    await second.objects.put(`stream/${of.uid}/180p/init.mp4`, init);
    await second.segments.get(of, "180p", 1, { lookahead: false });
    assert.deepEqual(second.encoders(), ["hardware", "software"]);
    assert.equal(second.h264.selected().encoder, "h264_nvenc");
    assert.deepEqual(await second.bytesOf(of, "180p", "init"), init);
  },
);

test(
  "the initialization segments of two encoders are one with the parameter sets of both",
  needsPrograms("ffmpeg", "prlimit"),
  async (t) => {
    const { video, segments, bytesOf } = await openHardware(t);
    const path = await clip({ size: "640x360", audio: false });
    const both = await video(path, { ...model, softwareFallback: true });
    const hardware = await video(path, model);
    for (const one of [both, hardware]) await segments.get(one, "180p", 0, { lookahead: false });
    const [joined, own] = [await bytesOf(both, "180p", "init"), await bytesOf(hardware, "180p", "init")];
    assert.equal(includesParameterSets(joined, own), true);
    assert.equal(includesParameterSets(own, joined), false);
  },
);
