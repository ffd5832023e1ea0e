import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fraction, MediaModel, VideoRendition } from "../model.ts";
import { renditionRate, frameTicks, timescaleOf, videoCodecs } from "./codecs.ts";
import { videoOptions } from "./video-options.ts";

const model = (num: number, den = 1) => ({ segments: { fps: { num, den } as Fraction } }) as MediaModel;
const rung = (width: number, height: number, bitrate: number, more: Partial<VideoRendition> = {}): VideoRendition => ({
  name: `${height}p`,
  codec: "h264",
  width,
  height,
  bitrate,
  ...more,
});

test("each H.264 level is the lowest that allows the size, frame rate and bitrate", () => {
  assert.equal(videoCodecs(rung(426, 240, 400_000), model(30)), "avc1.64001e");
  assert.equal(videoCodecs(rung(640, 360, 800_000), model(30)), "avc1.64001e");
  assert.equal(videoCodecs(rung(1280, 720, 2_800_000), model(30_000, 1001)), "avc1.64001f");
  assert.equal(videoCodecs(rung(1280, 720, 2_800_000), model(60)), "avc1.640020");
  assert.equal(videoCodecs(rung(1920, 1080, 5_000_000), model(30)), "avc1.640028");
  assert.equal(videoCodecs(rung(1080, 1920, 5_000_000), model(30)), "avc1.640028");
  assert.equal(videoCodecs(rung(1920, 1080, 5_000_000), model(60)), "avc1.64002a");
  assert.equal(videoCodecs(rung(2560, 1440, 9_000_000), model(30)), "avc1.640032");
  assert.equal(videoCodecs(rung(3840, 2160, 16_000_000), model(60)), "avc1.640034");
});

test("a very wide video needs the level of its longer side", () => {
  assert.equal(videoCodecs(rung(3000, 64, 400_000), model(30)), "avc1.640020");
});

test("a rendition at half the frame rate has the level for that rate", () => {
  assert.deepEqual(renditionRate({ halved: true }, model(60_000, 1001)), { num: 30_000, den: 1001 });
  assert.deepEqual(renditionRate({ halved: true }, model(25)), { num: 25, den: 2 });
  assert.equal(videoCodecs(rung(854, 480, 1_400_000, { halved: true }), model(60)), "avc1.64001f");
});

test("all renditions of a video have the same timescale, and frames last a whole number of ticks", () => {
  for (const [num, den] of [
    [30, 1],
    [50, 1],
    [60, 1],
    [24_000, 1001],
    [30_000, 1001],
    [60_000, 1001],
    [120, 1],
    [7, 2],
  ] as const) {
    const video = { ...model(num, den), editLists: true as const };
    const [full, halved] = [{}, { halved: true as const }];
    assert.equal(timescaleOf(full, video), timescaleOf(halved, video), `${num}/${den}`);
    assert.ok(Number.isInteger(frameTicks(full, video)), `${num}/${den}`);
    assert.equal(frameTicks(halved, video), 2 * frameTicks(full, video), `${num}/${den}`);
  }
  // Segments from earlier versions are stored with this timescale.
  assert.equal(timescaleOf({ halved: true }, model(60_000, 1001)), 90_000);
});

test("HEVC and AV1 have their own levels", () => {
  assert.equal(videoCodecs(rung(1280, 720, 1_800_000, { codec: "hevc" }), model(30)), "hvc1.1.6.L93.90");
  assert.equal(videoCodecs(rung(1920, 1080, 3_000_000, { codec: "av1" }), model(30)), "av01.0.08M.08");
});

test("a hardware encoder encodes only H.264, with a key frame at the start of each segment", () => {
  const grid = { ...model(30), h264Encoder: "h264_nvenc", softwareFallback: true } as MediaModel;
  grid.segments.framesPerSegment = 120;
  const options = videoOptions(rung(640, 360, 800_000), grid, "h264_nvenc").join(" ");
  assert.match(options, /-c:v h264_nvenc .*-maxrate 800000 .*-level:v 3\.0 -g 120 /);
  assert.doesNotMatch(options, /x264/);
  assert.match(videoOptions(rung(640, 360, 800_000, { codec: "hevc" }), grid, "h264_nvenc").join(" "), /-c:v libx265/);
});

test("x264 uses other ids for its parameter sets in a video of a hardware encoder", () => {
  const of = (more: Partial<MediaModel>) => videoOptions(rung(640, 360, 800_000), { ...model(30), ...more }).join(" ");
  assert.match(of({ h264Encoder: "h264_nvenc", softwareFallback: true }), /-c:v libx264 .*:sps-id=1/);
  assert.doesNotMatch(of({}), /sps-id/);
});
