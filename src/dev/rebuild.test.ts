import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { coalesce } from "./rebuild.ts";

/** Returns work whose runs finish when the test releases them. */
function heldWork() {
  const held: (() => void)[] = [];
  const seen = { runs: 0, running: 0, most: 0 };
  const work = coalesce(async () => {
    seen.runs += 1;
    seen.most = Math.max(seen.most, ++seen.running);
    await new Promise<void>((resolve) => held.push(resolve));
    seen.running -= 1;
  });
  return {
    work,
    seen,
    endRun: async () => {
      held.shift()!();
      await turn();
    },
  };
}

it("combines all requests made during a build into one further build, and never builds concurrently", async () => {
  const { work, seen, endRun } = heldWork();
  const first = work.request();
  const during = [work.request(), work.request(), work.request()];
  await endRun();
  await first;
  assert.equal(seen.runs, 2);
  const third = work.request();
  await endRun();
  await Promise.all(during);
  assert.equal(seen.runs, 3);
  await endRun();
  await third;
  assert.deepEqual(seen, { runs: 3, running: 0, most: 1 });
});

it("builds again for a request made at the moment a build ends", async () => {
  const { work, seen, endRun } = heldWork();
  const first = work.request();
  const second = work.request();
  const third = first.then(() => work.request());
  await endRun();
  await endRun();
  if (seen.running > 0) await endRun();
  await Promise.all([second, third]);
  assert.equal(seen.most, 1);
});

it("starts no build after close(), and waits for the one in progress", async () => {
  const { work, seen, endRun } = heldWork();
  const requests = [work.request(), work.request()];
  let closed = false;
  const closing = work.close().then(() => (closed = true));
  await turn();
  assert.equal(closed, false);
  await endRun();
  await Promise.all([...requests, closing, work.request()]);
  assert.equal(seen.runs, 1);
});
