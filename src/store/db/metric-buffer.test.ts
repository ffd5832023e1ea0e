import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { createMetricBuffer } from "./metric-buffer.ts";

interface Cell {
  key: string;
  n: number;
}

function open({ fails = false, ...options }: { fails?: boolean; maxCells?: number; batchSize?: number } = {}) {
  const written: string[] = [];
  const state = { fails };
  const buffer = createMetricBuffer<Cell>({
    name: "test",
    async write(batch) {
      if (state.fails) throw new Error("no database");
      written.push(batch.map(({ key, n }) => `${key}${n}`).join(" "));
    },
    merge: (into, from) => void (into.n += from.n),
    log: silentLog,
    flushMs: 1e6,
    ...options,
  });
  const add = (key: string, n = 1) => void (buffer.cell(key, () => ({ key, n: 0 })).n += n);
  return { buffer, written, state, add };
}

test("writes the metrics of an interval in batches, in the order of their keys", async () => {
  const { buffer, written, add } = open({ batchSize: 2 });
  for (const key of ["c", "a", "b", "a"]) add(key);
  const before = buffer.interval;
  await buffer.flush();
  assert.deepEqual(written, ["a2 b1", "c1"]);
  assert.notEqual(buffer.interval, before);
  await buffer.flush();
  add("d");
  await buffer.close();
  assert.deepEqual(written.slice(2), ["d1"]);
});

test("adds a failed batch to the next interval", async () => {
  const { buffer, written, state, add } = open({ fails: true });
  add("a");
  add("b");
  await buffer.flush();
  add("a", 5);
  state.fails = false;
  await buffer.close();
  assert.deepEqual(written, ["a6 b1"]);
});

test("writes early when there are many cells, and discards them if the database remains unavailable", async () => {
  const { buffer, written, state, add } = open({ maxCells: 2 });
  add("a");
  add("b");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(written, ["a1 b1"]);
  state.fails = true;
  for (const key of ["c", "d", "e", "f", "g"]) add(key);
  await buffer.flush();
  await buffer.flush();
  state.fails = false;
  await buffer.close();
  assert.ok(written.length <= 2, written.join());
});
