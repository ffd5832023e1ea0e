import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { bitRatesOf } from "./index.ts";

const segment = (duration: number, size: number) => ({ duration, size });

test("the peak is the highest bit rate of a segment, and the average covers all segments", () => {
  assert.deepEqual(bitRatesOf([segment(4, 1000), segment(4, 3000), segment(4, 500)]), { peak: 6000, average: 3000 });
});

test("a short last segment counts only together with the previous segment", () => {
  // On its own, the last segment would have 80,000 bits per second; 1.9 s is less than half the target duration of 4 s.
  assert.deepEqual(bitRatesOf([segment(4, 1000), segment(4, 1000), segment(1.9, 19_000)]).peak, (8 * 20_000) / 5.9);
  assert.deepEqual(bitRatesOf([segment(4, 1000), segment(2, 19_000)]).peak, 76_000);
});

test("measures spans of contiguous segments up to 1.5 target durations", () => {
  const bits = bitRatesOf([
    segment(4, 100),
    segment(0.5, 100),
    segment(0.5, 4000),
    segment(0.5, 4000),
    segment(0.5, 4000),
    segment(0.5, 100),
  ]);
  assert.equal(bits.peak, (8 * 12_100) / 2);
});

test("uses the average as the peak if the duration is less than half a target duration", () => {
  assert.deepEqual(bitRatesOf([segment(0.25, 1000)]), { peak: 32_000, average: 32_000 });
  assert.deepEqual(bitRatesOf([]), { peak: 0, average: 0 });
});

test("the average is never above the peak", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ duration: fc.double({ min: 0.02, max: 12, noNaN: true }), size: fc.nat(10_000_000) }), {
        maxLength: 40,
      }),
      (segments) => {
        const { peak, average } = bitRatesOf(segments);
        assert.ok(Number.isFinite(peak) && average <= peak);
      },
    ),
  );
});
