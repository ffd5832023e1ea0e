import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { createReturnPathBatch } from "./return-path-batch.ts";
import type { PathRow } from "./bounces-table.ts";

const row = (id: string) => ({ id }) as PathRow;

/** Returns a table whose writes complete on demand. */
function slowTable() {
  const kept = new Map<string, PathRow>();
  const writes: { ids: string[]; end(err?: Error): void }[] = [];
  return {
    kept,
    writes,
    insertPaths: (rows: readonly PathRow[]) =>
      new Promise<void>((resolve, reject) => {
        writes.push({
          ids: rows.map(({ id }) => id),
          end(err) {
            if (err !== undefined) return reject(err);
            for (const one of rows) kept.set(one.id, one);
            resolve();
          },
        });
      }),
    path: async (id: string) => kept.get(id),
  };
}

test("writes concurrently added paths together and without delay, and they can be read immediately", async () => {
  const table = slowTable();
  const later = createReturnPathBatch({ table, log: silentLog });
  for (const id of ["a", "b", "c"]) await later.add(row(id));
  assert.equal(table.writes.map(({ ids }) => ids).join(), "");
  const pending = later.path("b");
  assert.deepEqual(
    table.writes.map(({ ids }) => ids),
    [["a", "b", "c"]],
  );
  table.writes[0]!.end();
  assert.equal((await pending)?.id, "b");
  await later.flush();
  assert.equal(table.writes.length, 1, "nothing is written twice");
});

test("callers wait if too many paths are pending, and a failed write does not block later ones", async () => {
  const table = slowTable();
  const later = createReturnPathBatch({ table, log: silentLog });
  let full = false;
  const adding = (async () => {
    for (let n = 0; n < 500; n++) await later.add(row(`n${n}`));
    full = true;
  })();
  const written = () => table.writes.length;
  while (written() === 0) await new Promise(setImmediate);
  assert.equal(full, false);
  table.writes[0]!.end(new Error("no room"));
  await adding;
  assert.equal(full, true);
  assert.equal(await later.path("n1"), undefined);
  await later.add(row("x"));
  const flushed = later.flush();
  table.writes[1]!.end();
  await flushed;
  assert.equal((await later.path("x"))?.id, "x");
});
