import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "./clock.ts";
import { createQuota } from "./quota.ts";

test("limits each key per period, and does not count attempts beyond the limit", () => {
  const clock = createManualClock(0);
  const { consume } = createQuota({ clock, limit: 2, perMs: 60_000 });
  assert.deepEqual([consume("a"), consume("a"), consume("a"), consume("b")], [0, 0, 60, 0]);
  clock.advance(59_001);
  assert.equal(consume("a"), 1);
  clock.advance(999);
  assert.deepEqual([consume("a"), consume("a"), consume("a")], [0, 0, 60]);
  const free = createQuota({ clock, limit: 0, perMs: 1 });
  assert.deepEqual(
    Array.from({ length: 100 }, () => free.consume("a")),
    Array.from({ length: 100 }, () => 0),
  );
});

test("uses bounded memory for thousands of keys by evicting the oldest", () => {
  const { consume } = createQuota({ clock: createManualClock(0), limit: 1, perMs: 60_000 });
  for (let i = 0; i <= 10_000; i++) consume(`key ${i}`);
  assert.deepEqual([consume("key 10000"), consume("key 0")], [60, 0]);
});
