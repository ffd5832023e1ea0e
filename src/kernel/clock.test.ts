import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdvancingClock, createManualClock } from "./clock.ts";

test("advancing a clock wakes only the sleepers that are due", async () => {
  const base = createManualClock(1000);
  const clock = createAdvancingClock(base);
  const woken: string[] = [];
  const short = clock.sleep(100).then(() => woken.push("short"));
  const long = clock.sleep(10_000).then(() => woken.push("long"));
  clock.advance(100);
  await short;
  assert.equal(clock.now(), 1100);
  assert.deepEqual(woken, ["short"]);
  clock.advance(9000);
  base.advance(10_000);
  await long;
  assert.equal(clock.now(), 20_100);
});

test("sleep() on an adjustable clock rejects with the reason of its signal", async () => {
  const clock = createAdvancingClock(createManualClock());
  const controller = new AbortController();
  const sleep = clock.sleep(100, controller.signal);
  controller.abort(new Error("stopped"));
  await assert.rejects(sleep, /stopped/);
  await assert.rejects(clock.sleep(100, controller.signal), /stopped/);
});
