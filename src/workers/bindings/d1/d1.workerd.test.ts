import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startWorkerd, type RunningWorkerd } from "../../../../test/support/workerd.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { createD1Service, type D1Service } from "./index.ts";

// The client side of D1 is workerd's own `cloudflare-internal:d1-api`, so only a test inside a worker shows the results
// a worker receives. This worker runs the request body as code, with the database as `db` and a new session as
// `session`.
const WORKER = `
export default {
  async fetch(request, { DB: db }) {
    const code = await request.text();
    try {
      return Response.json({ value: (await steps[code](db)) ?? null });
    } catch (error) {
      return Response.json({ error: error.message, cause: error.cause?.message });
    }
  },
};
const steps = {
  reset: (db) => db.exec("drop table if exists t;\\ncreate table t (id integer primary key, name text, data blob);"),
  run: (db) => db.prepare("insert into t (name, data) values (?, ?)").bind("a", new Uint8Array([1, 2, 255])).run(),
  runReturning: (db) => db.prepare("insert into t (name) values (?1) returning id, name").bind("b").run(),
  all: (db) => db.prepare("select * from t order by id").all(),
  allNone: (db) => db.prepare("select * from t where 0").all(),
  first: (db) => db.prepare("select * from t").first(),
  firstNone: (db) => db.prepare("select * from t where 0").first(),
  firstColumn: (db) => db.prepare("select name from t").first("name"),
  firstNoColumn: (db) => db.prepare("select name from t").first("nope"),
  raw: (db) => db.prepare("select name, name from t order by id").raw(),
  rawNames: (db) => db.prepare("select name, id as name from t order by id").raw({ columnNames: true }),
  bindAll: (db) => db.prepare("select ? as n, ? as s, ? as z, ? as t, ? as f, ? as bytes, ? as list").bind(1.5, "x", null, true, false, new Uint8Array([7]).buffer, [8, 9]).first(),
  bindUndefined: (db) => db.prepare("select ?").bind(undefined).first(),
  bindObject: (db) => db.prepare("select ?").bind({}).first(),
  bindTooFew: (db) => db.prepare("select ?, ?").bind(1).first(),
  batch: (db) => db.batch([db.prepare("insert into t (name) values (?)").bind("c"), db.prepare("select count(*) as n from t")]),
  batchFails: (db) => db.batch([db.prepare("insert into t (name) values ('d')"), db.prepare("select nope")]),
  count: (db) => db.prepare("select count(*) from t").first("count(*)"),
  exec: (db) => db.exec("insert into t (name) values ('e');\\n-- a comment\\ninsert into t (name) values ('f'); select 1;"),
  execFails: (db) => db.exec("select 1;\\nselec 2;\\nselect 3"),
  execPieces: (db) => db.exec("create table u (\\n a int\\n)"),
  noTable: (db) => db.prepare("select * from nope").all(),
  unique: (db) => db.prepare("insert into t (id) values (1)").run(),
  begin: (db) => db.prepare("begin").run(),
  twoStatements: (db) => db.prepare("select 1; select 2").all(),
  dump: (db) => db.dump(),
  async session(db) {
    const session = db.withSession("first-primary");
    const before = session.getBookmark();
    const { results } = await session.prepare("select 1 as one").all();
    const first = session.getBookmark();
    await session.batch([session.prepare("select 2")]);
    const second = session.getBookmark();
    const resumed = db.withSession(second);
    await resumed.prepare("select 3").run();
    return { before, results, first, ordered: first < second && second < resumed.getBookmark() };
  },
  async parallel(db) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => db.prepare("select ? as i").bind(i).first("i")));
    return answers;
  },
  large: (db) => db.prepare("select length(?) as n").bind("x".repeat(1_900_000)).first("n"),
};
`;

describe("D1 through workerd", () => {
  let folder: string;
  let service: D1Service;
  let workerd: RunningWorkerd;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "d1-workerd-"));
    service = createD1Service({ directory: folder, processes: 1 });
    const caller = {
      script: { name: "test" } as WorkerScript,
      binding: { type: "d1", name: "DB", id: "database" },
    } as const;
    workerd = await startWorkerd({
      modules: { "main.js": WORKER },
      bindings: `(name = "DB", wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = "d1")]))`,
      services: { d1: (request, response) => void service.handle(request, response, caller) },
    });
  });
  after(async () => {
    await workerd?.close();
    await service?.databases.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (step: string) =>
    (await (await workerd.fetch("/", { method: "POST", body: step })).json()) as {
      value?: unknown;
      error?: string;
      cause?: string;
    };
  const value = async (step: string) => {
    const answer = await ask(step);
    assert.equal(answer.error, undefined, workerd.output());
    // oxlint-disable-next-line typescript/no-explicit-any
    return answer.value as any;
  };
  const error = async (step: string) => (await ask(step)).error;

  test("prepared statements support run, all, first and raw", async () => {
    assert.equal((await value("reset")).count, 2);
    const inserted = await value("run");
    assert.deepEqual(
      [
        inserted.success,
        inserted.results,
        inserted.meta.changes,
        inserted.meta.last_row_id,
        inserted.meta.changed_db,
        inserted.meta.served_by,
      ],
      [true, [], 1, 1, true, "reelpost"],
    );
    assert.deepEqual((await value("runReturning")).results, [{ id: 2, name: "b" }]);
    assert.deepEqual((await value("all")).results, [
      { id: 1, name: "a", data: [1, 2, 255] },
      { id: 2, name: "b", data: null },
    ]);
    assert.deepEqual((await value("allNone")).results, []);
    assert.deepEqual(await value("first"), { id: 1, name: "a", data: [1, 2, 255] });
    assert.equal(await value("firstNone"), null);
    assert.equal(await value("firstColumn"), "a");
    assert.equal(await error("firstNoColumn"), "D1_COLUMN_NOTFOUND: Column not found (nope)");
    assert.deepEqual(await value("raw"), [
      ["a", "a"],
      ["b", "b"],
    ]);
    assert.deepEqual(await value("rawNames"), [
      ["name", "name"],
      ["a", 1],
      ["b", 2],
    ]);
  });

  test("values are bound to parameters", async () => {
    assert.deepEqual(await value("bindAll"), { n: 1.5, s: "x", z: null, t: 1, f: 0, bytes: [7], list: [8, 9] });
    assert.equal(await error("bindUndefined"), "D1_TYPE_ERROR: Type 'undefined' not supported for value 'undefined'");
    assert.equal(await error("bindObject"), "D1_TYPE_ERROR: Type 'object' not supported for value '[object Object]'");
    assert.equal(await error("bindTooFew"), "D1_ERROR: Wrong number of parameter bindings for SQL query.");
    assert.equal(await value("large"), 1_900_000);
  });

  test("batch runs as one transaction", async () => {
    await value("reset");
    const [inserted, counted] = await value("batch");
    assert.deepEqual([inserted.results, counted.results], [[], [{ n: 1 }]]);
    assert.equal(await error("batchFails"), "D1_ERROR: no such column: nope at offset 7: SQLITE_ERROR");
    assert.equal(await value("count"), 1);
  });

  test("exec runs line by line and reports the line that failed", async () => {
    await value("reset");
    const { count, duration } = await value("exec");
    assert.equal(count, 3);
    assert.ok(duration > 0);
    assert.equal(
      await error("execFails"),
      'D1_EXEC_ERROR: Error in line 2: selec 2;: near "selec": syntax error at offset 0: SQLITE_ERROR',
    );
    assert.equal(
      await error("execPieces"),
      "D1_EXEC_ERROR: Error in line 1: create table u (: incomplete input: SQLITE_ERROR",
    );
  });

  test("errors have D1's messages and their cause", async () => {
    await value("reset");
    await value("run");
    assert.deepEqual(await ask("noTable"), {
      error: "D1_ERROR: no such table: nope: SQLITE_ERROR",
      cause: "no such table: nope: SQLITE_ERROR",
    });
    assert.equal(
      await error("unique"),
      "D1_ERROR: UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
    );
    assert.match(
      (await error("begin"))!,
      /^D1_ERROR: To execute a transaction, please use the state\.storage\.transaction\(\)/,
    );
    assert.equal(await error("twoStatements"), "D1_ERROR: A prepared SQL statement must contain only one statement.");
    assert.equal(await error("dump"), "D1_DUMP_ERROR: Status + 400");
  });

  test("sessions pass on bookmarks", async () => {
    const { before, results, first, ordered } = await value("session");
    assert.deepEqual([before, results, ordered], [null, [{ one: 1 }], true]);
    assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/);
  });

  test("concurrent requests each get their own response", async () => {
    assert.deepEqual(
      await value("parallel"),
      Array.from({ length: 20 }, (_, i) => i),
    );
  });
});
