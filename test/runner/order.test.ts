import assert from "node:assert/strict";
import { test } from "node:test";
import { schedule } from "../../scripts/test/order.ts";

test("starts the longest files first and reserves one process for fast files", () => {
  const times = { a: 60_000, b: 50_000, c: 40_000, x: 3_000, y: 1_000 };
  assert.deepEqual(schedule(["y", "c", "x", "a", "b"], times, 3), ["a", "b", "x", "y", "c"]);
});

test("schedules every file once, even without recorded times or with slow files only", () => {
  const files = Array.from({ length: 20 }, (_, n) => `f${n}`);
  assert.deepEqual(schedule(files, {}, 3).toSorted(), files.toSorted());
  const slow = Object.fromEntries(files.map((file, n) => [file, 20_000 + n]));
  assert.deepEqual(schedule(files, slow, 3), files.toReversed());
  assert.deepEqual(schedule(files, slow, 1), files.toReversed());
});
