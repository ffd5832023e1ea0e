import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "./clock.ts";
import { createCorrectedClock } from "./corrected-clock.ts";

test("follows the monotonic clock, not the local one", () => {
  const local = createManualClock(50_000);
  let monotonic = 100;
  const clock = createCorrectedClock(local, () => monotonic);
  assert.equal(clock.now(), 50_000);
  clock.correct(40_000.5, 90);
  assert.equal(clock.now(), 40_010);
  local.advance(10_000);
  assert.equal(clock.now(), 40_010);
  monotonic += 5;
  assert.equal(clock.now(), 40_015);
});

test("never runs backwards: if it is ahead, it returns the same time", () => {
  let monotonic = 0;
  const clock = createCorrectedClock(createManualClock(), () => monotonic);
  clock.correct(1000, 0);
  assert.equal(clock.now(), 1000);
  clock.correct(400, 0);
  const times = [];
  for (; monotonic <= 800; monotonic += 200) times.push(clock.now());
  assert.deepEqual(times, [1000, 1000, 1000, 1000, 1200]);
});
