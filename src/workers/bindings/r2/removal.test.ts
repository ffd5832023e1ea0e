import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import { createRemoval } from "./removal.ts";
import type { RemovedVersion, RemovedTable } from "./removed-table.ts";

/** Returns a store that records deletions and blocks until it is released. */
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
  const removal = createRemoval({ objects, table: {} as RemovedTable, log: silentLog, immediate: true });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { removal, deleted, turn, open: () => void gates.splice(0).forEach((gate) => gate()) };
}

const plain = (owner: string): RemovedVersion => ({ bucket: "bucket", owner, multipart: false });

test("bytes remain until the last reader has finished", async () => {
  const { removal, deleted, turn, open } = slowRemoval();
  const [one, two] = [removal.beginRead("v1")!, removal.beginRead("v1")!];
  removal.enqueue([plain("v1")]);
  one();
  one();
  await turn();
  assert.deepEqual([deleted, removal.isBeingRead("v1")], [[], true]);
  two();
  await turn();
  assert.deepEqual([deleted, removal.isBeingRead("v1")], [[["r2/bucket/v1"]], false]);
  open();
  await removal.settled();
});

test("bytes cannot be opened while they are being deleted", async () => {
  const { removal, turn, open } = slowRemoval();
  removal.enqueue([plain("v1")]);
  assert.equal(removal.beginRead("v1"), undefined);
  await turn();
  assert.equal(removal.beginRead("v1"), undefined);
  open();
  await removal.settled();
  // The blob has been deleted; the store will report that it is missing.
  removal.beginRead("v1")!();
});

test("removals that arrive while the store is busy are deleted together in the next batch", async () => {
  const { removal, deleted, turn, open } = slowRemoval();
  removal.enqueue([plain("v1")]);
  await turn();
  removal.enqueue([plain("v2"), plain("v3")]);
  removal.enqueue([plain("v4")]);
  open();
  await turn();
  open();
  await removal.settled();
  assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2", "r2/bucket/v3", "r2/bucket/v4"]]);
});

test("a failing store is not retried repeatedly and blocks nothing", async () => {
  const { removal, deleted, turn, open } = slowRemoval({ failing: true });
  removal.enqueue([plain("v1")]);
  await turn();
  open();
  await removal.settled();
  removal.enqueue([plain("v2")]);
  await turn();
  open();
  await removal.settled();
  assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2"]]);
});

test("handles a removal that arrives just as the last batch ends", async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    const { removal, deleted, turn, open } = slowRemoval();
    removal.enqueue([plain("v1")]);
    await turn();
    open();
    for (let tick = 0; tick < ticks; tick++) await undefined;
    removal.enqueue([plain("v2")]);
    await turn();
    open();
    await removal.settled();
    assert.deepEqual(deleted, [["r2/bucket/v1"], ["r2/bucket/v2"]], `after ${ticks} microtasks`);
  }
});
