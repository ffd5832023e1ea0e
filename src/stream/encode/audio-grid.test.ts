import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AUDIO_FRAME_SAMPLES, AUDIO_RATE, audioFrameCount, audioFrames } from "./audio-grid.ts";

const rates = [
  [24_000, 1001],
  [24, 1],
  [25, 1],
  [30_000, 1001],
  [30, 1],
  [50, 1],
  [60_000, 1001],
  [60, 1],
] as const;
const grids = fc
  .record({ rate: fc.constantFrom(...rates), frames: fc.integer({ min: 1, max: 3_000_000 }) })
  .map(({ rate: [num, den], frames }) => {
    const framesPerSegment = Math.round((4 * num) / den);
    return { fps: { num, den }, framesPerSegment, frames, count: Math.ceil(frames / framesPerSegment) };
  });

test("audio segments are contiguous and not empty, and each starts together with its video segment", () => {
  fc.assert(
    fc.property(grids, fc.double({ min: 0, max: 1, noNaN: true }), (grid, where) => {
      const n = Math.min(grid.count - 1, Math.floor(where * grid.count));
      const { first, count } = audioFrames(grid, n);
      assert.ok(count > 0);
      assert.equal(first + count, n === grid.count - 1 ? audioFrameCount(grid) : audioFrames(grid, n + 1).first);
      const pictures = (n * grid.framesPerSegment * grid.fps.den) / grid.fps.num;
      const sound = (first * AUDIO_FRAME_SAMPLES) / AUDIO_RATE;
      assert.ok(sound <= pictures + 1e-9 && pictures - sound < AUDIO_FRAME_SAMPLES / AUDIO_RATE + 1e-9);
    }),
  );
});

test("audio ends with the last video frame, or less than one audio frame later", () => {
  fc.assert(
    fc.property(grids, (grid) => {
      const pictures = (grid.frames * grid.fps.den) / grid.fps.num;
      const sound = (audioFrameCount(grid) * AUDIO_FRAME_SAMPLES) / AUDIO_RATE;
      assert.ok(sound >= pictures - 1e-9 && sound - pictures < AUDIO_FRAME_SAMPLES / AUDIO_RATE + 1e-9);
    }),
  );
});
