import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { silentLog, UserError } from "../../kernel/index.ts";
import { type D1Databases } from "../../workers/index.ts";
import { createRemoteDatabases } from "../../workers/bindings/d1/index.ts";
import { connectToPrimaryProcess } from "./primary-process.ts";

/** Starts a primary process, and two callers that stand for the other processes. */
async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-d1-processes-"));
  let owner: ChildProcess;
  async function startOwner() {
    owner = fork(join(import.meta.dirname, "d1-owner.testing.ts"), [folder]);
    await once(owner, "message");
  }
  await startOwner();
  const callers = [1, 2].map(() => {
    const primary = connectToPrimaryProcess(folder, { waitMs: 120_000 });
    return { primary, databases: createRemoteDatabases(primary, { log: silentLog }) };
  });
  t.after(async () => {
    for (const { primary, databases } of callers) {
      await databases.close();
      primary.close();
    }
    await killOwner();
    rmSync(folder, { recursive: true, force: true });
  });
  async function killOwner() {
    const ended = once(owner, "exit");
    owner.kill("SIGKILL");
    await ended;
  }
  const [one, two] = callers.map(({ databases }) => databases) as [D1Databases, D1Databases];
  return { one, two, startOwner, killOwner };
}

const rowsOf = async (databases: D1Databases, sql: string) =>
  (await databases.query("app", [{ sql }])).at(-1)!.results.rows;

test("callers in several processes use the same databases", async (t) => {
  const { one, two } = await start(t);
  await one.query("app", [{ sql: "create table t(a)" }]);
  // Both read before they write: in separate SQLite connections, one of them would have to start over.
  const increment = [
    { sql: "insert into t select coalesce(max(a), 0) + 1 from t" },
    { sql: "select count(*) from t where a = (select max(a) from t)" },
  ];
  const batches = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : two).query("app", increment));
  for (const [, { results }] of (await Promise.all(batches)) as [unknown, { results: { rows: unknown[] } }][])
    assert.deepEqual(results.rows, [[1]]);
  assert.deepEqual(await rowsOf(two, "select count(*), max(a) from t"), [[20, 20]]);

  await assert.rejects(
    two.query("app", [{ sql: "insert into t values (100)" }, { sql: "select * from missing" }]),
    (err: UserError) => err.kind === "sql" && err.message === "no such table: missing: SQLITE_ERROR",
  );
  assert.deepEqual(await rowsOf(one, "select max(a) from t"), [[20]]);

  assert.ok((await two.size("app")) > 0);
  await two.delete("app");
  assert.equal(await one.size("app"), 0);
  await assert.rejects(rowsOf(one, "select * from t"), /no such table: t/);
  const aborter = new AbortController();
  const aborted = two.query("app", [{ sql: "select 1" }], { signal: aborter.signal });
  aborter.abort(new Error("the client disconnected"));
  await assert.rejects(aborted, /the client disconnected/);
});

test("after the primary process was killed, every acknowledged batch is complete, and every other one is absent or complete", async (t) => {
  const { one, two, startOwner, killOwner } = await start(t);
  await one.query("app", [{ sql: "create table t(n, half)" }]);
  const acknowledged = new Set<number>();
  const batch = async (databases: D1Databases, n: number) => {
    try {
      const insert = (half: number) => ({ sql: "insert into t values (?, ?)", params: [n, half] });
      await databases.query("app", [insert(1), insert(2)]);
      acknowledged.add(n);
    } catch (err) {
      assert.ok(err instanceof UserError && err.kind === "reset", String(err));
    }
  };
  const run = (from: number) =>
    Array.from({ length: 40 }, (_, index) => batch(index % 2 === 0 ? one : two, from + index));
  const interrupted = run(0);
  await Promise.race(interrupted);
  await killOwner();
  // These calls begin after the primary process was killed and before its successor starts.
  const waiting = run(100);
  await startOwner();
  await Promise.all([...interrupted, ...waiting]);
  const rows = await rowsOf(two, "select n, count(*), sum(half) from t group by n");
  const stored = new Set(rows.map(([n]) => Number(n)));
  assert.deepEqual(
    rows.filter(([, count, sum]) => count !== 2 || sum !== 3),
    [],
  );
  assert.deepEqual(
    [...acknowledged].filter((n) => !stored.has(n)),
    [],
  );
  for (let n = 100; n < 140; n++) assert.ok(acknowledged.has(n), `the waiting batch ${n} is acknowledged`);
});
