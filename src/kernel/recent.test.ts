import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "./clock.ts";
import { createReadThroughCache } from "./recent.ts";

function setUp({ max = 3 } = {}) {
  const clock = createManualClock();
  const requested: { key: string; answer: (value: string | undefined) => void }[] = [];
  const recent = createReadThroughCache<string>({
    clock,
    max,
    ttlMs: 1000,
    read: (key) => new Promise((answer) => requested.push({ key, answer })),
  });
  const read = async (key: string, value: string | undefined) => {
    const got = recent.get(key);
    requested.at(-1)!.answer(value);
    return got;
  };
  return { clock, requested, recent, read };
}

test("one read serves all concurrent and recent callers", async () => {
  const { clock, requested, recent } = setUp();
  const waiting = [recent.get("a"), recent.get("a")];
  requested[0]!.answer("one");
  assert.deepEqual([...(await Promise.all(waiting)), await recent.get("a")], ["one", "one", "one"]);
  assert.equal(requested.length, 1);
  clock.advance(1000);
  const again = recent.get("a");
  requested[1]!.answer("two");
  assert.equal(await again, "two");
});

test("an invalidated read is neither cached nor returned to later callers", async () => {
  const { requested, recent } = setUp();
  const before = recent.get("a");
  recent.forget(() => true);
  const after = recent.get("a");
  assert.equal(requested.length, 2);
  requested[0]!.answer("old");
  requested[1]!.answer("new");
  assert.deepEqual([await before, await after, await recent.get("a")], ["old", "new", "new"]);
});

test("does not cache missing values or failures", async () => {
  const { requested, read } = setUp();
  assert.equal(await read("a", undefined), undefined);
  assert.equal(await read("a", "there"), "there");
  assert.equal(requested.length, 2);
  let fail = true;
  const broken = createReadThroughCache<string>({
    clock: createManualClock(),
    max: 1,
    ttlMs: 1000,
    read: async () => (fail ? Promise.reject(new Error("down")) : "up"),
  });
  await assert.rejects(broken.get("a"), /down/);
  fail = false;
  assert.equal(await broken.get("a"), "up");
});

test("bounds the number of cached values", async () => {
  const { requested, recent, read } = setUp({ max: 2 });
  for (const key of ["a", "b", "c"]) await read(key, key);
  assert.equal(await recent.get("c"), "c");
  assert.equal(await recent.get("b"), "b");
  assert.equal(requested.length, 3);
  assert.equal(await read("a", "again"), "again");
});

test("an invalidated read that finishes last does not overwrite a newer one", async () => {
  const { requested, recent } = setUp();
  const before = recent.get("a");
  recent.forget(() => true);
  const after = recent.get("a");
  requested[1]!.answer("new");
  assert.equal(await after, "new");
  requested[0]!.answer("old");
  assert.equal(await before, "old");
  assert.equal(await recent.get("a"), "new");
});
