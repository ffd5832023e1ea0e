import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { audioGrid, outputRate, videoGrid } from "./grid.ts";
import { createTrackScanner, type TrackScan } from "./track-scan.ts";

interface Timing {
  /** Ticks per second. */
  scale: number;
  /** Returns the time of frame n in seconds. */
  at: (n: number) => number;
  frames: number;
  /** True if packets declare their durations. */
  durations?: boolean;
}

function scan({ scale, at, frames, durations = false }: Timing): TrackScan {
  const scanner = createTrackScanner();
  for (let n = 0; n < frames; n++) {
    const pts = Math.round(at(n) * scale);
    scanner.add({
      pts,
      dts: pts,
      duration: durations ? Math.round(at(n + 1) * scale) - pts : 0,
      octets: 100,
      key: n % 50 === 0,
    });
  }
  return scanner.result(1 / scale, 0)!;
}

const reported = (timing: Timing, rates: number[] = []) => {
  const { num, den } = outputRate(scan(timing).cadence, rates);
  return den === 1 ? String(num) : `${num}/${den}`;
};

const STANDARD = [
  [24_000, 1001],
  [24, 1],
  [25, 1],
  [30_000, 1001],
  [30, 1],
  [50, 1],
  [60_000, 1001],
  [60, 1],
] as const;
const nameOf = ([num, den]: (typeof STANDARD)[number]) => (den === 1 ? String(num) : `${num}/${den}`);

describe("the frame rate", () => {
  test("equals a standard source rate, in any timescale", () => {
    for (const rate of STANDARD) {
      const at = (n: number) => (n * rate[1]) / rate[0];
      for (const scale of [90_000, 12_800, 600, 1000])
        assert.equal(
          reported({ scale, at, frames: Math.ceil((10 * rate[0]) / rate[1]) }),
          nameOf(rate),
          `${nameOf(rate)} in ${scale}`,
        );
      // One second of millisecond timestamps cannot distinguish 30 from 29.97; the headers can.
      assert.equal(
        reported({ scale: 1000, at, frames: 25 }, [rate[0] / rate[1]]),
        nameOf(rate),
        `${nameOf(rate)} reported`,
      );
    }
  });

  test("uses the counted frames rather than the rate in the headers", () => {
    assert.equal(reported({ scale: 90_000, at: (n) => n / 25, frames: 100 }, [12, 60, 1000]), "25");
  });

  test("ignores dropped frames", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...STANDARD),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 40, maxLength: 80 }),
        (rate, steps) => {
          const places = steps.reduce<number[]>(
            (all, step, i) => [...all, all.at(-1)! + (i % 2 === 0 ? 1 : step)],
            [0],
          );
          assert.equal(
            reported({ scale: 90_000, at: (n) => ((places[n] ?? 0) * rate[1]) / rate[0], frames: places.length }),
            nameOf(rate),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  test("equals the source rate if it is low", () => {
    const cases: [number, string][] = [
      [1, "1"],
      [2, "2"],
      [5, "5"],
      [7.5, "15/2"],
      [8, "8"],
      [10, "10"],
      [12, "12"],
      [12.5, "25/2"],
      [15, "15"],
      [15_000 / 1001, "15000/1001"],
      [20, "20"],
      [22, "22"],
    ];
    for (const [rate, expected] of cases)
      for (const scale of [90_000, 1000])
        assert.equal(reported({ scale, at: (n) => n / rate, frames: 200 }), expected, `${rate} in ${scale}`);
    assert.equal(reported({ scale: 1000, at: (n) => n / 15, frames: 12 }, [15]), "15");
  });

  test("is a multiple of a source rate below 1 fps", () => {
    assert.deepEqual(
      [0.5, 0.1].map((rate) => reported({ scale: 90_000, at: (n) => n / rate, frames: 50 })),
      ["1", "1"],
    );
  });

  test("is a multiple or fraction of a non-standard or high source rate, else the next higher standard rate", () => {
    const cases: [number, string][] = [
      [27, "30000/1001"],
      [35, "50"],
      [48, "50"],
      [55, "60000/1001"],
      [72, "60"],
      [75, "60"],
      [90, "60"],
      [100, "50"],
      [120, "60"],
      [120_000 / 1001, "60000/1001"],
      [144, "60"],
      [240, "60"],
      [1000, "50"],
    ];
    for (const [rate, expected] of cases)
      assert.equal(reported({ scale: 90_000, at: (n) => n / rate, frames: 200 }), expected, String(rate));
  });

  test("preserves most frames of a source without a regular cadence", () => {
    const uneven = (mean: number, spread: number) => (n: number) => n / mean + spread * Math.sin(n * n);
    assert.equal(reported({ scale: 90_000, at: uneven(25.67, 0.006), frames: 400 }), "30000/1001");
    assert.equal(reported({ scale: 90_000, at: uneven(58, 0.003), frames: 400 }), "60000/1001");
    // A screen recording that is mostly still.
    assert.equal(
      reported({
        scale: 1000,
        at: (n) => Math.floor(n / 30) * 10 + (n % 30) * 0.0331 + 0.002 * Math.sin(n),
        frames: 300,
      }),
      "30",
    );
  });

  test("is between 1 and 60 fps for any timestamps", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            pts: fc.integer({ min: -1e6, max: 1e9 }),
            dts: fc.option(fc.integer({ min: -1e6, max: 1e9 }), { nil: undefined }),
            duration: fc.integer({ min: -5, max: 1e9 }),
            octets: fc.nat(),
            key: fc.boolean(),
          }),
          { minLength: 1, maxLength: 60 },
        ),
        fc.constantFrom(1 / 90_000, 1 / 1000, 1),
        fc.array(fc.double({ min: 0.001, max: 1e6, noNaN: true })),
        (packets, tick, rates) => {
          const scanner = createTrackScanner();
          for (const packet of packets) scanner.add(packet);
          const { cadence, start, end, keyframeInterval, packets: count } = scanner.result(tick, 0)!;
          const { num, den } = outputRate(cadence, rates);
          assert.ok(
            Number.isSafeInteger(num) && Number.isSafeInteger(den) && num / den >= 1 && num / den <= 60,
            `${num}/${den}`,
          );
          assert.ok(end >= start && keyframeInterval >= 0 && count === packets.length && Number.isFinite(end));
        },
      ),
    );
  });
});

test("a track without packets has no duration, and a last packet without a duration has that of the others", () => {
  assert.equal(createTrackScanner().result(1, 0), undefined);
  assert.equal(scan({ scale: 1000, at: (n) => n / 25, frames: 100 }).end, 4);
  assert.equal(scan({ scale: 1000, at: (n) => (n === 100 ? 7 : n / 25), frames: 100, durations: true }).end, 7);
});

test("the grid covers every frame exactly once, in segments of about four seconds", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(
        ...STANDARD,
        [1, 1] as const,
        [5, 4] as const,
        [10, 1] as const,
        [25, 2] as const,
        [15_000, 1001] as const,
      ),
      fc.double({ min: 0.1, max: 40_000, noNaN: true }),
      ([num, den], seconds) => {
        const { framesPerSegment, frames, count } = videoGrid({ num, den }, seconds);
        assert.ok(Math.abs(frames - (seconds * num) / den) <= 0.5 || frames === 1);
        assert.ok((count - 1) * framesPerSegment < frames && frames <= count * framesPerSegment);
        assert.ok(Math.abs((framesPerSegment * den) / num - 4) < 0.01);
        // Rungs at half the frame rate also need whole segments.
        assert.ok(num / den <= 30 || framesPerSegment % 2 === 0);
      },
    ),
  );
  assert.deepEqual(audioGrid(9), { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: 225, count: 3 });
  assert.equal(audioGrid(8.0000000001).count, 2);
  assert.equal(audioGrid(8.01).count, 3);
});
