import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { releaseStartMemory } from "./start-memory.ts";

const youngGeneration = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")!.space_size;

test("returns the memory of the young generation once the process is idle", async (t) => {
  // Objects that survive two scavenges let V8 double the young generation, as loading modules does.
  for (let round = 0, kept: object[] = []; youngGeneration() < 8_000_000 && round < 200; round++, kept = [])
    for (let i = 0; i < 100_000; i++) kept.push({ i, text: [i] });
  const before = youngGeneration();
  assert.ok(before >= 8_000_000, String(before));
  t.after(releaseStartMemory({ checkMs: 10 }));
  while (youngGeneration() > before / 4) await setTimeout(10);
});

test("collects only once, and not before the process is idle", async (t) => {
  const collected: true[] = [];
  t.after(releaseStartMemory({ checkMs: 20, collect: () => void collected.push(true) }));
  // An event loop that waits for a timer counts as idle, even while another process has the processor.
  for (const until = performance.now() + 200; performance.now() < until; await setImmediate())
    for (const busy = performance.now() + 15; performance.now() < busy;);
  assert.equal(collected.length, 0);
  while (collected.length === 0) await setTimeout(10);
  await setTimeout(100);
  assert.equal(collected.length, 1);
});
