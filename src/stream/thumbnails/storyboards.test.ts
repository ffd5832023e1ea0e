import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type ClipRecipe, needsFfmpeg } from "../../../test/support/media.ts";
import { decodeImage, HALVES, kindOfError, openThumbnails } from "./thumbnails.testing.ts";

/**
 * Red; five seconds of blue and five seconds of white from second 15; then red again. A key frame every ten seconds.
 */
const BETWEEN: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    "color=red:s=320x180:r=30:d=15[a];color=blue:s=320x180:r=30:d=5[b];color=white:s=320x180:r=30:d=5[c];color=red:s=320x180:r=30:d=15[d];[a][b][c][d]concat=n=4:v=1[out0]",
  ],
  audio: false,
  keyframeSeconds: 10,
  output: ["-g", "1000"],
};

/** Opens a section of a file, like a clip. */
async function openClip(t: TestContext, recipe: ClipRecipe, start: number, end: number) {
  const world = await openThumbnails(t, recipe, { clip: { start, end } });
  const model = { ...world.video.model!, duration: end - start, source: { ...world.video.model!.source, start } };
  return { ...world, get: (path: string) => world.get(path, { ...world.video, model }) };
}

describe("storyboards", needsFfmpeg, () => {
  test("have one thumbnail per second of a short video, and cues that reference its position", async (t) => {
    const { get } = await openThumbnails(t, HALVES);
    const { bytes, type } = await get("storyboard.vtt");
    assert.equal(type, "text/vtt; charset=utf-8");
    assert.equal(
      bytes.toString(),
      [
        "WEBVTT\n",
        "00:00:00.000 --> 00:00:01.000\nstoryboard-0.jpg#xywh=0,0,160,90\n",
        "00:00:01.000 --> 00:00:02.000\nstoryboard-0.jpg#xywh=160,0,160,90\n",
        "00:00:02.000 --> 00:00:03.000\nstoryboard-0.jpg#xywh=320,0,160,90\n",
        "00:00:03.000 --> 00:00:04.000\nstoryboard-0.jpg#xywh=480,0,160,90\n",
      ].join("\n"),
    );
    const { size, colour } = await decodeImage(t, (await get("storyboard-0.jpg")).bytes);
    assert.deepEqual(
      [size, ...[0, 1, 2, 3].map((i) => colour((i + 0.25) / 5, 0.5))],
      ["800x90", "red", "red", "blue", "blue"],
    );
  });

  test("repeat the only key frame of a video in every position of every sheet", async (t) => {
    const { get } = await openThumbnails(t, {
      inputs: ["-f", "lavfi", "-i", "color=red:s=320x180:r=5:d=30[out0]"],
      audio: false,
      keyframeSeconds: 1000,
      output: ["-g", "1000"],
    });
    for (const [sheet, middleOfLast] of [
      [0, 0.9],
      [1, 0.5],
    ] as const)
      assert.equal(
        (await decodeImage(t, (await get(`storyboard-${sheet}.jpg`)).bytes)).colour(0.9, middleOfLast),
        "red",
        `${sheet}`,
      );
  });

  for (const [start, end, colours] of [
    [15, 25, ["blue", "blue", "blue", "blue", "blue", "white", "white", "white", "white", "white"]],
    // Without a key frame, with one at the very start, with one at the very end, and with a fraction of a second.
    [16, 19, ["blue", "blue", "blue"]],
    [20, 25, ["white", "white", "white", "white", "white"]],
    [16, 20, ["blue", "blue", "blue", "blue"]],
    [15, 16.5, ["blue", "blue"]],
  ] as const) {
    test(`show nothing outside the clip ${start} to ${end}`, async (t) => {
      const { get } = await openClip(t, BETWEEN, start, end);
      const { colour } = await decodeImage(t, (await get("storyboard-0.jpg")).bytes);
      const rows = Math.ceil(colours.length / 5);
      assert.deepEqual(
        colours.map((_, i) => colour(((i % 5) + 0.5) / 5, (Math.floor(i / 5) + 0.5) / rows)),
        colours,
      );
      for (const path of ["thumbnail.jpg?time=1h", "thumbnail.gif?time=1h", `thumbnail.jpg?time=${end - start}s`])
        assert.equal((await decodeImage(t, (await get(path)).bytes)).colour(0.5, 0.5), colours.at(-1), path);
    });
  }

  test("show nothing outside a long clip, including on sheets assembled from distant frames", async (t) => {
    // The clip is white: three quarters of an hour that begin and end between two key frames.
    const long: ClipRecipe = {
      inputs: [
        "-f",
        "lavfi",
        "-i",
        "color=red:s=64x36:r=1:d=620[a];color=white:s=64x36:r=1:d=2700[b];color=red:s=64x36:r=1:d=280[c];[a][b][c]concat=n=3:v=1[out0]",
      ],
      audio: false,
      keyframeSeconds: 40,
      output: ["-g", "1000"],
    };
    const { get } = await openClip(t, long, 620, 3320);
    for (const [sheet, pictures] of [
      [0, 25],
      [7, 5],
    ] as const) {
      const { colour } = await decodeImage(t, (await get(`storyboard-${sheet}.jpg`)).bytes);
      for (let i = 0; i < pictures; i++)
        assert.equal(
          colour(((i % 5) + 0.5) / 5, (Math.floor(i / 5) + 0.5) / Math.ceil(pictures / 5)),
          "white",
          `${sheet}: ${i}`,
        );
    }
  });

  test("read only the needed parts of a long video", async (t) => {
    const minutes = (n: number) => `${n * 60}`;
    // Half an hour of red, half an hour of blue, at one frame per second.
    const long: ClipRecipe = {
      inputs: [
        "-f",
        "lavfi",
        "-i",
        `color=red:s=64x36:r=1:d=${minutes(30)}[a];color=blue:s=64x36:r=1:d=${minutes(31)}[b];[a][b]concat=n=2:v=1[out0]`,
      ],
      audio: false,
      keyframeSeconds: 5,
    };
    const { get } = await openThumbnails(t, long);
    const cues = (await get("storyboard.vtt")).bytes
      .toString()
      .split("\n")
      .filter((line) => line.includes("-->"));
    assert.equal(cues.length, 61 * 2);
    const [first, last] = [
      await decodeImage(t, (await get("storyboard-0.jpg")).bytes),
      await decodeImage(t, (await get("storyboard-4.jpg")).bytes),
    ];
    assert.deepEqual(
      [first.size, first.colour(0.1, 0.1), last.size, last.colour(0.1, 0.1)],
      ["800x450", "red", "800x450", "blue"],
    );
    assert.equal(await kindOfError(get("storyboard-5.jpg")), "videoNotFound 404");
  });
});
