import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { createManualClock, type UserError } from "../../../kernel/index.ts";
import { createD1Databases, type D1DatabasesOptions } from "./databases.ts";
import type { D1Databases } from "./port.ts";
import { databaseFileName } from "./file-name.ts";

function open(
  t: TestContext,
  options: Partial<D1DatabasesOptions> = {},
): { databases: D1Databases; directory: string } {
  const directory = mkdtempSync(join(tmpdir(), "d1-databases-"));
  const databases = createD1Databases({ directory, processes: 2, ...options });
  t.after(async () => {
    await databases.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { databases, directory };
}

const ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
const run = async (databases: D1Databases, id: string, ...sql: string[]) =>
  (
    await databases.query(
      id,
      sql.map((text) => ({ sql: text })),
    )
  ).at(-1)!.results.rows;
const text = (message: string) => (error: UserError) => (assert.equal(error.message, message), true);

const DAY = 86_400_000;

/** Advances mocked timers in steps of `ms` until `end` is settled. */
async function passing(t: TestContext, ms: number, end: Promise<unknown>): Promise<void> {
  const state = { settled: false };
  const settle = () => void (state.settled = true);
  end.then(settle, settle);
  while (!state.settled) {
    t.mock.timers.tick(ms);
    // The processes need real time: without a pause, more than a day of mocked time passes while one starts.
    await new Promise<void>((resolve) => {
      const pause = setInterval(() => (clearInterval(pause), resolve()), 1);
    });
  }
}

/** Resolves when a child process is using CPU time, so its query has started. */
async function untilBusy(): Promise<void> {
  if (process.platform !== "linux") return;
  const ticks = () =>
    readFileSync(`/proc/self/task/${process.pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter(Boolean)
      .reduce((sum, pid) => {
        const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
        return sum + Number(fields[11]);
      }, 0);
  const before = ticks();
  while (ticks() < before + 5) await new Promise((resolve) => void setImmediate(resolve));
}

describe("D1 databases", () => {
  test("each id has its own file, which outlives the process that opened it", async (t) => {
    const { databases, directory } = open(t);
    await run(databases, "one", "create table t(a)", "insert into t values (1)");
    await run(databases, "two", "create table t(a)");
    await databases.close();
    await assert.rejects(run(databases, "one", "select 1"), text("D1 DB is shutting down."));
    assert.deepEqual(readdirSync(directory).sort(), ["one.sqlite", "two.sqlite"]);

    const again = createD1Databases({ directory });
    t.after(() => again.close());
    assert.deepEqual(await run(again, "one", "select * from t"), [[1]]);
    assert.deepEqual(await run(again, "two", "select * from t"), []);
  });

  test("the requests for one database run in order of arrival", async (t) => {
    const { databases } = open(t);
    await run(databases, "x", "create table t(n integer primary key autoincrement, a)");
    await Promise.all(Array.from({ length: 40 }, (_, i) => run(databases, "x", `insert into t(a) values (${i})`)));
    assert.deepEqual(
      await run(databases, "x", "select a from t order by n"),
      Array.from({ length: 40 }, (_, i) => [i]),
    );
  });

  test("SQL errors have D1's message, and a script has one result per statement", async (t) => {
    const { databases } = open(t);
    await assert.rejects(run(databases, "x", "select nope"), text("no such column: nope at offset 7: SQLITE_ERROR"));
    await assert.rejects(
      databases.query("x", [{ sql: "select ?", params: [] }]),
      text("Wrong number of parameter bindings for SQL query."),
    );
    const results = await databases.query(
      "x",
      [{ sql: "create table t(a); insert into t values (1);" }, { sql: "select * from t" }],
      { script: true },
    );
    assert.deepEqual(
      results.map(({ results }) => results.rows),
      [[], [], [[1]]],
    );
    await assert.rejects(
      databases.query("x", [{ sql: "insert into t values (2); select nope" }], { script: true }),
      /no such column/,
    );
    assert.deepEqual(await run(databases, "x", "select count(*) from t"), [[1]]);
  });

  test("kill an endless query, without losing an acknowledged write or keeping a part of its batch", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { databases } = open(t, { limits: { requestMs: DAY } });
    await run(databases, "x", "create table t(a)", "insert into t values (1)");
    const endless = assert.rejects(
      run(databases, "x", "insert into t values (2)", ENDLESS),
      text("D1 DB exceeded its CPU time limit and was reset."),
    );
    await untilBusy();
    await passing(t, DAY, endless);
    assert.deepEqual(await run(databases, "x", "select * from t"), [[1]]);
    assert.deepEqual(await run(databases, "x", "pragma quick_check"), [["ok"]]);
  });

  test("a slow query delays only its own database", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { databases } = open(t, { limits: { requestMs: DAY } });
    await run(databases, "slow", "create table t(a)");
    const slow = run(databases, "slow", ENDLESS).then(
      () => "finished",
      () => "killed",
    );
    const behind = run(databases, "slow", "select 1").then(() => "after the slow one");
    // These databases were open in the stuck process, or would be opened there first.
    const others = Promise.all(
      ["a", "b", "c"].map((id) => run(databases, id, "create table if not exists t(a)", "select 1")),
    );
    // They wait briefly for the stuck process, then switch to another one, long before the slow query ends.
    await passing(t, 200, others);
    assert.deepEqual(await run(databases, "a", "select count(*) from t"), [[0]]);
    await passing(t, DAY, slow);
    assert.equal(await slow, "killed");
    assert.equal(await behind, "after the slow one");
  });

  test("reject excess requests, and requests that waited too long, with D1's messages", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const clock = createManualClock(0);
    const { databases } = open(t, { clock, limits: { requestMs: DAY, waitMs: 200, waiting: 2 } });
    await run(databases, "x", "create table t(a)");
    const slow = assert.rejects(run(databases, "x", ENDLESS), text("D1 DB exceeded its CPU time limit and was reset."));
    const waiting = ["select 1", "select 2"].map((sql) =>
      assert.rejects(run(databases, "x", sql), text("D1 DB is overloaded. Requests queued for too long.")),
    );
    await assert.rejects(run(databases, "x", "select 3"), text("D1 DB is overloaded. Too many requests queued."));
    clock.advance(201);
    await passing(t, DAY, slow);
    await Promise.all(waiting);
    assert.deepEqual(await run(databases, "x", "select 4"), [[4]]);
  });

  test("do not run a request whose caller has disconnected", async (t) => {
    const { databases } = open(t);
    await run(databases, "x", "create table t(a)");
    const gone = new AbortController();
    const first = run(databases, "x", "insert into t values (1)");
    const second = databases.query("x", [{ sql: "insert into t values (2)" }], { signal: gone.signal });
    gone.abort(new Error("gone"));
    await assert.rejects(second, /gone/);
    await first;
    assert.deepEqual(await run(databases, "x", "select * from t"), [[1]]);
  });

  test("reject a request whose total size is too large", async (t) => {
    const { databases } = open(t, { limits: { requestBytes: 1000 } });
    await assert.rejects(
      databases.query("x", [{ sql: "select ?", params: ["x".repeat(1000)] }]),
      text("The request is larger than 1000 bytes."),
    );
  });

  test("report their size and can be deleted", async (t) => {
    const { databases, directory } = open(t);
    assert.equal(await databases.size("x"), 0);
    await run(databases, "x", "create table t(a)");
    assert.ok((await databases.size("x")) >= 8192);
    const after = [
      run(databases, "x", "select count(*) from t"),
      databases.delete("x"),
      run(databases, "x", "create table other(a)"),
    ];
    assert.deepEqual(await after[0], [[0]]);
    await Promise.all(after);
    assert.deepEqual(await run(databases, "x", "select name from sqlite_master"), [["other"]]);
    await databases.delete("x");
    assert.deepEqual(readdirSync(directory), []);
  });

  test("close idle files, end processes without files, and reopen both on use", async (t) => {
    const { databases, directory } = open(t, { idleMs: 20 });
    await run(databases, "x", "create table t(a)");
    assert.ok(existsSync(join(directory, "x.sqlite-wal")));
    // SQLite removes the log when the last connection closes.
    for (
      const until = Date.now() + 30_000;
      existsSync(join(directory, "x.sqlite-wal"));
      await new Promise((resolve) => setTimeout(resolve, 10))
    )
      assert.ok(Date.now() < until, "the database was not closed");
    assert.deepEqual(await run(databases, "x", "select count(*) from t"), [[0]]);
  });

  test(
    "no process outlives a killed server, not even one in an endless query",
    { skip: process.platform !== "linux" && "reads /proc" },
    async (t) => {
      const directory = mkdtempSync(join(tmpdir(), "d1-killed-"));
      t.after(() => rmSync(directory, { recursive: true, force: true }));
      const server = spawn(
        process.execPath,
        [
          "--input-type=module",
          "-e",
          `
      const { createD1Databases } = await import(${JSON.stringify(new URL("./databases.ts", import.meta.url).href)});
      const databases = createD1Databases({ directory: ${JSON.stringify(directory)}, processes: 2 });
      await Promise.all(["x", "y"].map((id) => databases.query(id, [{ sql: "create table t(a)" }])));
      databases.query("x", [{ sql: ${JSON.stringify(ENDLESS)} }]);
      console.log("running");
    `,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      t.after(() => void server.kill("SIGKILL"));
      await once(server.stdout, "data");
      const hosts = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ");
      assert.ok(hosts.length > 0 && hosts[0] !== "");
      const gone = once(server, "exit");
      server.kill("SIGKILL");
      await gone;
      for (
        const until = Date.now() + 30_000;
        hosts.some((pid) => existsSync(`/proc/${pid}`));
        await new Promise((resolve) => setTimeout(resolve, 50))
      )
        assert.ok(Date.now() < until, "the processes are still running");
    },
  );

  test("a file that is not a database causes an internal error with D1's message, for this database only", async (t) => {
    const { databases, directory } = open(t);
    writeFileSync(
      join(directory, "bad.sqlite"),
      "this is not a database, and long enough to be sure of it".repeat(100),
    );
    await assert.rejects(
      run(databases, "bad", "select 1"),
      text("Internal error in D1 DB storage caused object to be reset."),
    );
    assert.deepEqual(await run(databases, "good", "select 1"), [[1]]);
  });

  test("a damaged file causes the same error and does not end its process", async (t) => {
    const { databases, directory } = open(t, { processes: 1 });
    await run(databases, "bad", "create table t(a)", "insert into t values (1)");
    await databases.close();
    const file = openSync(join(directory, "bad.sqlite"), "r+");
    writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, 4096);
    closeSync(file);
    const again = createD1Databases({ directory, processes: 1 });
    t.after(() => again.close());
    await assert.rejects(
      run(again, "bad", "select * from t"),
      text("Internal error in D1 DB storage caused object to be reset."),
    );
    assert.deepEqual(await run(again, "good", "select 1"), [[1]]);
  });
});

test("file names are safe and distinct for any id", () => {
  assert.equal(databaseFileName("aabb-12_x"), "aabb-12_x.sqlite");
  const ids = ["DB", "db", "../db", "..", "my/ Database", "é", "x".repeat(128), "X".repeat(128), "a.sqlite", "con"];
  const names = ids.map(databaseFileName);
  for (const name of names) assert.match(name, /^[a-z0-9_-]+\.(?:[0-9a-f]{32}\.)?sqlite$/);
  assert.equal(new Set(names).size, ids.length);
  assert.throws(() => databaseFileName(""), /Invalid database id/);
});
