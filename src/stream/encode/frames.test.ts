import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, countFrames, type ClipRecipe, mediaClips, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { readFragments, readInit } from "../../protocol/mp4/index.ts";
import type { MediaModel } from "../model.ts";
import { measurePsnr, modelOf, openEncoder, rung } from "./encode.testing.ts";

/** Adjacent frames of the test clips have a similarity below this, in dB, so an off-by-one frame fails the test. */
const ALIKE = 30;
const same = <T>(value: T): T => value;
const least = (numbers: readonly number[]) => Math.min(...numbers);

test("the metric distinguishes a frame from the adjacent one", needsFfmpeg, async () => {
  const path = await clip(mediaClips.ntsc);
  const shifted = await clip({ ...mediaClips.ntsc, filter: "trim=start_frame=1,tpad=stop=1:stop_mode=clone" });
  const alike = await measurePsnr(shifted, path);
  assert.ok(Math.max(...alike.slice(0, -1)) < ALIKE, `${Math.max(...alike.slice(0, -1))}`);
});

test(
  "frames of a 29.97 fps video match the source at their positions, in any encoding order of the segments",
  needsFfmpeg,
  async (t) => {
    const path = await clip(mediaClips.ntsc);
    const { video, whole } = await openEncoder(t);
    const of = await video(
      path,
      modelOf({ seconds: 10, fps: { num: 30_000, den: 1001 }, frames: await countFrames(path) }),
    );
    assert.equal(of.model!.segments.count, 3);
    assert.ok(least(await measurePsnr(await whole(of, "180p", [2, 0, 1]), path)) > ALIKE);
  },
);

test(
  "a ladder encoded in two chunks around stored segments has the frames of the source in every rung",
  needsFfmpeg,
  async (t) => {
    const path = await clip(mediaClips.ntsc);
    const { video, whole, segments, runs, bytesOf } = await openEncoder(t);
    const ladder = [rung("90p", 160, 90), rung("136p", 242, 136), rung("180p", 320, 180)];
    const of = await video(
      path,
      modelOf({
        seconds: 10,
        fps: { num: 30_000, den: 1001 },
        frames: await countFrames(path),
        ladder,
        segmentSeconds: 1,
      }),
    );
    // Seeking viewers left different gaps in each rung.
    const kept = await Promise.all([bytesOf(of, "90p", 0), bytesOf(of, "136p", 3), bytesOf(of, "180p", 7)]);
    runs.length = 0;
    const { signal } = new AbortController();
    let made = 0;
    const onStored = () => void made++;
    const missing =
      (await segments.encodeMissing(of, [5, 6, 7, 8, 9], { signal, onStored })) +
      (await segments.encodeMissing(of, [0, 1, 2, 3, 4], { signal, onStored }));
    assert.equal(missing, made);
    assert.equal(
      await segments.encodeMissing(of, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], { signal }),
      0,
      "nothing is encoded twice",
    );
    for (const { name } of ladder)
      assert.ok(least(await measurePsnr(await whole(of, name), path, { size: [160, 90] })) > ALIKE - 4, name);
    assert.deepEqual(
      await Promise.all([bytesOf(of, "90p", 0), bytesOf(of, "136p", 3), bytesOf(of, "180p", 7)]),
      kept,
      "stored segments are unchanged",
    );
  },
);

/** Resolves with the time of the first frame, relative to the first timestamp of the file. */
async function firstPicture(path: string): Promise<number> {
  const ask = async (...entries: string[]) =>
    Number((await runFfmpeg([...entries, "-of", "csv=p=0", path], "ffprobe")).toString().split(/[,\n]/)[0]);
  return (
    (await ask("-select_streams", "v", "-show_entries", "stream=start_time")) -
    (await ask("-show_entries", "format=start_time"))
  );
}

interface Case {
  recipe: ClipRecipe;
  model: Parameters<typeof modelOf>[0];
  change?: (model: ReturnType<typeof modelOf>) => ReturnType<typeof modelOf>;
  source?: Partial<MediaModel["source"]>;
  /** Applied to the source before comparing. */
  filter?: string;
  size?: [number, number];
  rendition?: string;
  alike?: number;
}

const cases: Record<string, Case> = {
  "60 fps, halved": {
    recipe: mediaClips.sixty,
    model: {
      seconds: 5,
      fps: { num: 60, den: 1 },
      ladder: [rung("180p", 320, 180, { halved: true }), rung("720p", 320, 180)],
      segmentSeconds: 2,
    },
    filter: "framestep=2",
  },
  "60 fps, full rate": {
    recipe: mediaClips.sixty,
    model: { seconds: 5, fps: { num: 60, den: 1 }, segmentSeconds: 2 },
  },
  "23.976": {
    recipe: { fps: "24000/1001" },
    model: { seconds: 4, fps: { num: 24_000, den: 1001 }, frames: 96, segmentSeconds: 1 },
  },
  "an odd number of frames in the last segment, halved": {
    recipe: { seconds: 3, fps: "50", output: ["-frames:v", "141"] },
    model: {
      fps: { num: 50, den: 1 },
      frames: 141,
      ladder: [rung("180p", 320, 180, { halved: true })],
      segmentSeconds: 1,
    },
    filter: "framestep=2",
  },
  "a rotated video": { recipe: mediaClips.rotated, model: { size: [180, 320], segmentSeconds: 2 }, size: [180, 320] },
  "an odd size": {
    recipe: { size: "321x181", video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv444p"] },
    model: { segmentSeconds: 2 },
    alike: 27,
  },
  "Matroska, whose timestamps are rounded to milliseconds": {
    recipe: { extension: "mkv", fps: "30000/1001" },
    model: { fps: { num: 30_000, den: 1001 }, frames: 120, segmentSeconds: 1 },
    source: { format: "matroska" },
  },
  "sparse key frames": {
    recipe: {
      seconds: 8,
      keyframeSeconds: 8,
      video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "1000"],
    },
    model: { seconds: 8, segmentSeconds: 2 },
  },
  "a clip from the middle": {
    recipe: mediaClips.ntsc,
    model: { fps: { num: 30_000, den: 1001 }, frames: 120, segmentSeconds: 1 },
    source: { start: (77 * 1001) / 30_000 },
    filter: "trim=start_frame=77:end_frame=197",
  },
  interlaced: {
    recipe: {
      filter: "tinterlace=interleave_top,fieldorder=tff",
      fps: "50",
      video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-flags", "+ilme+ildct"],
    },
    model: { fps: { num: 25, den: 1 }, frames: 100, segmentSeconds: 2 },
    change: (model) => ({ ...model, video: { ...model.video!, interlaced: true } }),
    filter: "bwdif=mode=send_frame:deint=interlaced",
    alike: 27,
  },
};

for (const [name, { recipe, model, change, source, filter, size, rendition = "180p", alike = ALIKE }] of Object.entries(
  cases,
)) {
  test(`the frames match the source: ${name}`, needsFfmpeg, async (t) => {
    const path = await clip(recipe);
    const { video, whole } = await openEncoder(t);
    const of = await video(path, {
      ...(change ?? same)(modelOf({ audio: false, ...model })),
      source: { start: await firstPicture(path), ...source },
    });
    const backwards = Array.from({ length: of.model!.segments.count }, (_, n) => of.model!.segments.count - 1 - n);
    const found = await measurePsnr(await whole(of, rendition, backwards), path, {
      ...(filter !== undefined && { filter }),
      ...(size && { size }),
    });
    assert.ok(least(found) > alike, `${found.map((db) => db.toFixed(0)).join(" ")}`);
  });
}

test("a transport stream that starts at 1.4 s is encoded completely from its MP4 copy", needsFfmpeg, async (t) => {
  const path = await clip(mediaClips.transportStream);
  const copy = `${path}.mezzanine.mp4`;
  await runFfmpeg(["-i", path, "-map", "0", "-c", "copy", "-bsf:a", "aac_adtstoasc", "-copyts", copy]);
  const { video, whole } = await openEncoder(t);
  const of = await video(copy, { ...modelOf({ segmentSeconds: 1 }), source: { start: await firstPicture(copy) } });
  assert.ok(least(await measurePsnr(await whole(of, "180p", [3, 1, 0, 2]), path)) > ALIKE);
});

test("frames of uneven duration keep their duration, even across segment boundaries", needsFfmpeg, async (t) => {
  // One frame is shown from 1 s to 3.5 s: the third segment contains no new frame, nor does the half second before it.
  const path = await clip({
    video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-fps_mode", "vfr"],
    filter: "select='lt(t,1.01)+gt(t,3.5)'",
  });
  const { video, whole } = await openEncoder(t);
  const of = await video(path, modelOf({ segmentSeconds: 1 }));
  const made = await whole(of, "180p", [2, 3, 1, 0]);
  assert.ok(least(await measurePsnr(made, path, { filter: "fps=30" })) > ALIKE);
});

test(
  "a source whose video starts late or ends early shows a still frame during the missing time",
  needsFfmpeg,
  async (t) => {
    const path = await clip({ seconds: 2, output: ["-output_ts_offset", "0"] });
    const { video, whole } = await openEncoder(t);
    const late = await clip({
      inputs: [
        "-itsoffset",
        "1.5",
        "-i",
        path,
        "-i",
        await clip({ seconds: 5, video: false, extension: "m4a" }),
        "-map",
        "0:v",
        "-map",
        "1:a",
      ],
    });
    const of = await video(late, modelOf({ seconds: 5, segmentSeconds: 1 }));
    const made = await whole(of, "180p", [4, 0, 2, 1, 3]);
    assert.equal(await countFrames(made), 150);
    const found = await measurePsnr(made, path, { filter: "tpad=start=45:start_mode=clone:stop=45:stop_mode=clone" });
    assert.ok(least(found) > ALIKE, found.map((db) => db.toFixed(0)).join(" "));
  },
);

test("initialization segments are identical in every encoder run", needsFfmpeg, async (t) => {
  const path = await clip(mediaClips.ntsc);
  const ladder = [rung("90p", 160, 90), rung("180p", 320, 180)];
  const model = modelOf({ seconds: 10, fps: { num: 30_000, den: 1001 }, ladder });
  const { video, bytesOf, segments, objects } = await openEncoder(t);
  const { signal } = new AbortController();
  const [first, second, third] = [await video(path, model), await video(path, model), await video(path, model)];
  await segments.encodeMissing(first, [0, 1, 2], { signal });
  await segments.encodeInits(second, { signal });
  await segments.get(third, "90p", 2);
  for (const name of ["90p", "180p"])
    assert.deepEqual(await bytesOf(second, name, "init"), await bytesOf(first, name, "init"));
  assert.deepEqual(
    await (await objects.open(`stream/${third.uid}/90p/init.mp4`))!.bytes(),
    await bytesOf(first, "90p", "init"),
  );
});

test(
  "an edit list cancels the shift of composition offsets, but videos from earlier versions have neither",
  needsFfmpeg,
  async (t) => {
    const path = await clip(mediaClips.ntsc);
    const { video, bytesOf } = await openEncoder(t);
    const model = modelOf({ seconds: 10, fps: { num: 30_000, den: 1001 }, audio: false });
    const offsetsOf = async (more: Partial<MediaModel>) => {
      const of = await video(path, { ...model, ...more });
      const bytes = await bytesOf(of, "180p", 0);
      const fragments = await readFragments(
        async (start, length) => bytes.subarray(start, start + length),
        bytes.length,
      );
      return {
        delay: (await readInit(await bytesOf(of, "180p", "init"))).delay,
        time: fragments[0]!.time,
        offsets: fragments.flatMap(({ shifts }) => [...shifts]),
      };
    };
    const [now, before] = [await offsetsOf({ editLists: true }), await offsetsOf({})];
    // Two frames of 3003 ticks: x264 uses B-frames as references (b-pyramid).
    assert.deepEqual([now.delay, now.time, Math.min(...now.offsets)], [6006, 0, 0]);
    assert.deepEqual([before.delay, before.time, Math.min(...before.offsets)], [undefined, 0, -6006]);
    assert.deepEqual(
      now.offsets.map((offset) => offset - 6006),
      before.offsets,
    );
  },
);
