import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import { createRemoval } from "./removal.ts";
import type { Removed, RemovedTable } from "./removed-table.ts";

/** A store that notes what it is asked to delete, and does not come back before it is let. */
function slowRemoval({ failing = false } = {}) {
  const deleted: string[][] = [];
  const gates: (() => void)[] = [];
  const objects = {
    async delete(keys: string[]) {
      deleted.push(keys);
      await new Promise<void>((resolve) => gates.push(resolve));
      if (failing) throw new Error("no");
    },
  } as Partial<ObjectStore> as ObjectStore;
  const removal = createRemoval({ objects, table: {} as RemovedTable, log: silentLog, atOnce: true });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { removal, deleted, turn, open: () => void gates.splice(0).forEach((gate) => gate()) };
}

const plain = (owner: string): Removed => ({ bucket: "bucket", owner, multipart: false });

test("bytes stay until the last reader has left", async () => {
  const { removal, deleted, turn, open } = slowRemoval();
  const [one, two] = [removal.enter("v1")!, removal.enter("v1")!];
  removal.begin([plain("v1")]);
  one();
  one();
  await turn();
  assert.deepEqual([deleted, removal.isRead("v1")], [[], true]);
  two();
  await turn();
  assert.deepEqual([deleted, removal.isRead("v1")], [[["r2/bucket/v1"]], false]);
  open();
  await removal.settled();
});

test("nobody begins to read what is being deleted", async () => {
  const { removal, turn, open } = slowRemoval();
  removal.begin([plain("v1")]);
  assert.equal(removal.enter("v1"), undefined);
  await turn();
  assert.equal(removal.enter("v1"), undefined);
  open();
  await removal.settled();
  // It is gone: the store will say so.
  removal.enter("v1")!();
});

test("what comes while the store is busy goes together in the next round", async () => {
  const { removal, deleted, turn, open } = slowRemoval();
  removal.begin([plain("v1")]);
  await turn();
  removal.begin([plain("v2"), plain("v3")]);
  removal.begin([plain("v4")]);
  open();
  await turn();
  open();
  await removal.settled();
  assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2", "r2/bucket/v3", "r2/bucket/v4"]]);
});

test("a store that fails is not asked again and again, and holds nothing up", async () => {
  const { removal, deleted, turn, open } = slowRemoval({ failing: true });
  removal.begin([plain("v1")]);
  await turn();
  open();
  await removal.settled();
  removal.begin([plain("v2")]);
  await turn();
  open();
  await removal.settled();
  assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2"]]);
});

test("what comes in the very moment the work ends is not forgotten", async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    const { removal, deleted, turn, open } = slowRemoval();
    removal.begin([plain("v1")]);
    await turn();
    open();
    for (let tick = 0; tick < ticks; tick++) await undefined;
    removal.begin([plain("v2")]);
    await turn();
    open();
    await removal.settled();
    assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2"]], `after ${ticks} microtasks`);
  }
});
