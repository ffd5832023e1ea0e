import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIO_RENDITION, SOURCE } from "./package.testing.ts";
import { createPartTargets } from "./part-targets.ts";
import { createMeasuredRates } from "./rates.ts";
import type { TrackSegment } from "./track.ts";

const run = { id: "1".repeat(32), started: 0 };
const segment = (size: number, { duration = 2, frames = 0, of = run } = {}): TrackSegment => ({
  n: 0,
  run: of,
  start: 0,
  duration,
  isComplete: true,
  parts: [{ duration, independent: true, size, frames, bytes: [] }],
});

test("bandwidth follows measured segments above and below the estimate", () => {
  const rates = createMeasuredRates();
  assert.deepEqual(rates.of(SOURCE), SOURCE, "nothing is measured yet");
  rates.add("source", segment(500_000));
  rates.add("source", segment(1_000_000));
  rates.add("audio", segment(2500));
  assert.deepEqual([rates.of(SOURCE).peakBandwidth, rates.of(SOURCE).averageBandwidth], [4_000_000, 3_000_000]);
  assert.deepEqual(
    [rates.of(AUDIO_RENDITION).peakBandwidth, rates.of(AUDIO_RENDITION).averageBandwidth],
    [10_000, 10_000],
    "below the estimate of 64 kbit/s",
  );
});

test("bandwidth decreases after a minute at a lower bitrate, or at a discontinuity", () => {
  const rates = createMeasuredRates();
  for (let i = 0; i < 30; i++) rates.add("source", segment(1_000_000));
  for (let i = 0; i < 29; i++) rates.add("source", segment(250_000));
  assert.equal(rates.of(SOURCE).peakBandwidth, 4_000_000);
  rates.add("source", segment(250_000));
  assert.deepEqual([rates.of(SOURCE).peakBandwidth, rates.of(SOURCE).averageBandwidth], [1_000_000, 1_000_000]);
  rates.add("source", segment(500_000, { of: { id: "2".repeat(32), started: 0 } }));
  assert.deepEqual([rates.of(SOURCE).peakBandwidth, rates.of(SOURCE).averageBandwidth], [2_000_000, 2_000_000]);
});

test("bandwidth ignores the short segment before a discontinuity", () => {
  const rates = createMeasuredRates();
  rates.add("source", segment(250_000));
  rates.add("source", segment(500_000, { duration: 0.4 }));
  assert.equal(rates.of(SOURCE).peakBandwidth, 1_000_000);
});

for (const [frames, duration, expected] of [
  [60, 2.002, 30_000 / 1001],
  [60, 2, 30],
  [50, 2, 25],
  [49, 2.04, 24.02],
  [48, 2.002, 24_000 / 1001],
  [25, 2, 12.5],
] as const) {
  test(`${frames} frames in ${duration} s give a frame rate of ${expected.toFixed(3)}`, () => {
    const rates = createMeasuredRates();
    rates.add("source", segment(1000, { duration, frames }));
    assert.equal(rates.of(SOURCE).frameRate, expected);
    assert.equal(createMeasuredRates().of(AUDIO_RENDITION).frameRate, undefined);
  });
}

test("the part target is the longest part plus timestamp jitter, and never decreases", () => {
  const targets = createPartTargets(0.2);
  assert.equal(targets.of("source"), 0.2);
  for (const [seconds, expected] of [
    [4 / 24, 0.17],
    [0.168, 0.17],
    [0.2, 0.21],
    [4 / 24, 0.21],
  ] as const) {
    targets.add("source", seconds);
    assert.equal(targets.of("source"), expected);
  }
  targets.add("audio", (9 * 1024) / 48_000);
  assert.equal(targets.of("audio"), 0.2, "each rendition has its own target");
});
