import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { streamSettings } from "../media/media.testing.ts";
import { bitrateCapOf, createLadder } from "./ladder.ts";

const usual = streamSettings();
const all = streamSettings({
  ladder: ["2160p", "240p", "360p", "480p", "720p", "1080p", "1440p"],
  codecs: ["av1", "h264", "hevc"],
});
const names = (width: number, height: number, settings = usual, fps = 30) =>
  createLadder({ width, height, fps }, settings).map((rung) => `${rung.name} ${rung.width}x${rung.height}`);

test("selects rungs by the shorter side, up to the size of the source", () => {
  assert.deepEqual(names(1920, 1080), [
    "240p 426x240",
    "360p 640x360",
    "480p 854x480",
    "720p 1280x720",
    "1080p 1920x1080",
  ]);
  assert.deepEqual(names(1080, 1920), [
    "240p 240x426",
    "360p 360x640",
    "480p 480x854",
    "720p 720x1280",
    "1080p 1080x1920",
  ]);
  assert.deepEqual(names(3840, 2160), names(1920, 1080));
  assert.deepEqual(names(640, 640).at(-1), "640p 640x640");
});

test("adds a rung with the source's own size between two rungs, if worthwhile", () => {
  assert.deepEqual(names(1600, 900).slice(-2), ["720p 1280x720", "900p 1600x900"]);
  assert.deepEqual(names(1920, 816).slice(-1), ["720p 1694x720"]);
  assert.deepEqual(names(320, 180), ["180p 320x180"]);
  assert.deepEqual(names(1, 1), ["2p 2x2"]);
});

test("sets the bitrate by size, higher for high frame rates, and halves the frame rate below 720p", () => {
  const ladder = createLadder({ width: 1920, height: 1080, fps: 60 }, usual);
  assert.deepEqual(
    ladder.map(({ bitrate, halved }) => [bitrate, halved]),
    [
      [400_000, true],
      [800_000, true],
      [1_400_000, true],
      [4_200_000, undefined],
      [7_500_000, undefined],
    ],
  );
  assert.deepEqual(
    createLadder({ width: 1280, height: 720, fps: 30 }, usual).map(({ bitrate, halved }) => [bitrate, halved]),
    [
      [400_000, undefined],
      [800_000, undefined],
      [1_400_000, undefined],
      [2_800_000, undefined],
    ],
  );
});

test("includes every requested codec under distinct names", () => {
  assert.deepEqual(
    createLadder({ width: 640, height: 360, fps: 30 }, all).map(
      ({ name, codec, bitrate }) => `${name} ${codec} ${bitrate}`,
    ),
    [
      "240p h264 400000",
      "240p-hevc hevc 280000",
      "240p-av1 av1 240000",
      "360p h264 800000",
      "360p-hevc hevc 560000",
      "360p-av1 av1 480000",
    ],
  );
  assert.deepEqual(names(3840, 2160, all).slice(-3), [
    "2160p 3840x2160",
    "2160p-hevc 3840x2160",
    "2160p-av1 3840x2160",
  ]);
});

test("every rung declares the lowest codec level for its resolution, frame rate and bitrate", () => {
  const levels = (width: number, height: number, fps: number, settings = usual) =>
    createLadder({ width, height, fps }, settings).map(({ level }) => level);
  assert.deepEqual(levels(1920, 1080, 30), [21, 30, 31, 31, 40]);
  assert.deepEqual(levels(1920, 1080, 10), [21, 22, 22, 31, 40], "a lower frame rate needs a lower level");
  assert.deepEqual(levels(1920, 1080, 60), [21, 30, 31, 32, 42]);
  assert.deepEqual(levels(176, 144, 15), [11]);
  // 240p in H.264, HEVC and AV1, then 360p.
  assert.deepEqual(levels(640, 360, 30, all), [21, 60, 0, 30, 63, 1]);
});

test("has even sides no larger than the source, its aspect ratio, and distinct names, lowest first, for any source", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 8192 }),
      fc.integer({ min: 2, max: 4320 }),
      fc.constantFrom(24, 30, 60),
      fc.constantFrom(usual, all),
      (width, height, fps, settings) => {
        const ladder = createLadder({ width, height, fps }, settings);
        assert.ok(ladder.length > 0);
        assert.equal(new Set(ladder.map(({ name }) => name)).size, ladder.length);
        for (const [i, rung] of ladder.entries()) {
          assert.ok(rung.width % 2 === 0 && rung.height % 2 === 0 && rung.width >= 2 && rung.height >= 2);
          assert.ok(
            rung.width <= width && rung.height <= height,
            `${rung.name} ${rung.width}x${rung.height} of ${width}x${height}`,
          );
          const short = Math.min(rung.width, rung.height);
          assert.ok(
            Math.abs(rung.width * height - rung.height * width) <=
              2.5 * Math.max(width, height) * Math.max(1, short / Math.min(width, height)),
            `${rung.width}x${rung.height} of ${width}x${height}`,
          );
          if (i > 0) assert.ok(rung.width * rung.height >= ladder[i - 1]!.width * ladder[i - 1]!.height);
          assert.ok(rung.bitrate >= 5000 && Number.isInteger(rung.bitrate));
        }
      },
    ),
  );
});

test("bitrate caps increase with the size", () => {
  for (let short = 2; short < 5000; short += 2) assert.ok(bitrateCapOf(short) >= bitrateCapOf(Math.max(2, short - 2)));
});
