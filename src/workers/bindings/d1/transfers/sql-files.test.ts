import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test, type TestContext } from "node:test";
import {
  array,
  assert as check,
  asyncProperty,
  constant,
  double,
  maxSafeInteger,
  oneof,
  string,
  uint8Array,
} from "fast-check";
import type { UserError } from "../../../../kernel/index.ts";
import { createD1Databases, type D1DatabasesOptions } from "../databases.ts";
import type { D1Databases } from "../port.ts";
import type { ExportOptions } from "./export-sql.ts";

function open(t: TestContext, limits: D1DatabasesOptions["limits"] = {}): D1Databases {
  const directory = mkdtempSync(join(tmpdir(), "d1-files-"));
  const databases = createD1Databases({ directory, processes: 1, limits });
  t.after(async () => {
    await databases.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return databases;
}

const rows = async (databases: D1Databases, id: string, ...sql: string[]) =>
  (
    await databases.query(
      id,
      sql.map((text) => ({ sql: text })),
    )
  ).at(-1)!.results.rows;
const bring = (databases: D1Databases, id: string, sql: string | Buffer, mark = 7) =>
  databases.import(id, {
    open: () => Readable.from([Buffer.from(sql)], { objectMode: false }),
    size: Buffer.byteLength(sql),
    mark,
  });
const fetchSql = async (databases: D1Databases, id: string, options: Partial<ExportOptions> = {}) => {
  const pieces: Buffer[] = [];
  for await (const piece of databases.export(id, { noSchema: false, noData: false, tables: [], ...options }))
    pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
};
const text = (message: string) => (error: UserError) => (assert.equal(error.message, message), true);

const SCHEMA = `
  create table parent(id integer primary key autoincrement, name text not null unique);
  create table "odd ""name"(a, b generated always as (a + 1), "c d" blob, parent integer references parent(id));
  create index by_name on parent(name);
  create view both as select * from parent;
  create trigger log after insert on parent begin update parent set name = new.name || '!' where id = new.id; end;
  create table plain(x primary key, y) without rowid;`;

describe("a SQL file", () => {
  test("runs as one transaction and reports counts", async (t) => {
    const databases = open(t);
    const done = await bring(
      databases,
      "x",
      "-- made by hand\ncreate table t(a integer primary key, b);\ninsert into t(b) values ('é; '';'), (2);\nselect * from t;\n",
    );
    assert.deepEqual(
      { ...done, durationMs: 0 },
      { statements: 3, rowsRead: 2, rowsWritten: 2, lastRowId: 2, changedDb: true, sizeAfter: 8192, durationMs: 0 },
    );
    assert.deepEqual(await rows(databases, "x", "select b from t"), [["é; ';"], [2]]);
  });

  test("changes nothing if it contains an error, and reports the position of the error", async (t) => {
    const databases = open(t);
    await rows(databases, "x", "create table t(a unique)");
    const refusals: [sql: string | Buffer, error: string][] = [
      [
        "insert into t values (1);\ninsert into t\nvalues (1);",
        "UNIQUE constraint failed: t.a: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE) (statement 2, line 2)",
      ],
      [
        "insert into t values (1); selec 1; select 2",
        'near "selec": syntax error at offset 0: SQLITE_ERROR (statement 2, line 1)',
      ],
      ["-- nothing\n", "No SQL statements detected."],
      [Buffer.from([0x2d, 0x2d, 0xff, 0x0a]), "The file is not valid UTF-8 after statement 0."],
      ["insert into t values (1); attach '/tmp/x' as x;", "not authorized: SQLITE_AUTH (statement 2, line 1)"],
      [
        `insert into t values (1); select '${"x".repeat(6_000_000)}'`,
        "statement too long: SQLITE_TOOBIG (statement 2, line 1)",
      ],
      [
        "pragma defer_foreign_keys = on; create table c(a references t(a)); insert into c values (5);",
        "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
      ],
    ];
    for (const [sql, error] of refusals) await assert.rejects(bring(databases, "x", sql), text(error));
    await assert.rejects(
      bring(databases, "x", "BEGIN TRANSACTION; insert into t values (1); COMMIT;"),
      /To execute a transaction/,
    );
    assert.deepEqual(
      await rows(
        databases,
        "x",
        "select (select count(*) from t), (select count(*) from sqlite_master where name = 'c')",
      ),
      [[0, 0]],
    );
  });

  test("keeps nothing from a file that is truncated because the server died", async (t) => {
    const databases = open(t);
    const sql = "create table t(a); insert into t values (1);";
    await assert.rejects(
      databases.import("x", {
        open: () => Readable.from([Buffer.from(sql)], { objectMode: false }),
        size: sql.length + 1,
        mark: 1,
      }),
      /ended after 44 of 45 bytes/,
    );
    await assert.rejects(
      databases.import("x", {
        open: () =>
          Readable.from(
            (async function* () {
              yield Buffer.from(sql);
              throw new Error("the disk is gone");
            })(),
            { objectMode: false },
          ),
        size: 100,
        mark: 1,
      }),
      /the disk is gone/,
    );
    assert.deepEqual(await rows(databases, "x", "select name from sqlite_master"), []);
  });

  test("returns the counts of a repeated import without running it again", async (t) => {
    const databases = open(t);
    const sql = "create table t(a); insert into t values (1);";
    await bring(databases, "x", sql, 5);
    assert.deepEqual((await bring(databases, "x", sql, 5)).statements, 2);
    assert.deepEqual(await rows(databases, "x", "select * from t"), [[1]]);
    await assert.rejects(bring(databases, "x", sql, 6), /table t already exists/);
  });

  test("makes queries wait during an import", async (t) => {
    const databases = open(t, { importPatienceMs: 3_600_000 });
    const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const importing = databases.import(
      "x",
      { open: () => Readable.from([Buffer.from("create table t(a)")], { objectMode: false }), size: 17, mark: 1 },
      { ready: () => (started.resolve(), released.promise.then(() => true)) },
    );
    await started.promise;
    const found = rows(databases, "x", "select count(*) from t");
    released.resolve();
    await importing;
    assert.deepEqual(await found, [[0]]);
  });

  test("rejects queries that have waited too long for an import, and later ones until it ends", async (t) => {
    const databases = open(t, { importPatienceMs: 100 });
    const [head, tail] = [Buffer.from("create table t(a);"), Buffer.from("insert into t values (1);")];
    const { promise: rejected, resolve: continueImport } = Promise.withResolvers<void>();
    async function* sql() {
      yield head;
      await rejected;
      yield tail;
    }
    const importing = databases.import("x", {
      open: () => Readable.from(sql(), { objectMode: false }),
      size: head.length + tail.length,
      mark: 1,
    });
    await assert.rejects(rows(databases, "x", "select 1"), text("Currently processing a long-running import."));
    await assert.rejects(rows(databases, "x", "select 2"), text("Currently processing a long-running import."));
    continueImport();
    await importing;
    assert.deepEqual(await rows(databases, "x", "select a from t"), [[1]]);
  });

  test("stops an endless import", async (t) => {
    const databases = open(t, { transferMs: 1_000 });
    await rows(databases, "x", "create table t(a)");
    const endless = bring(
      databases,
      "x",
      "insert into t values (1); with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c;",
      2,
    );
    await assert.rejects(endless, /took longer than 1000 ms/);
    assert.deepEqual(await rows(databases, "x", "select count(*) from t"), [[0]]);
  });

  test("does not recreate a database that was deleted before its import", async (t) => {
    const databases = open(t);
    await assert.rejects(
      databases.import("x", { open: () => Readable.from([]), size: 0, mark: 1 }, { ready: async () => false }),
      text("The database x could not be found"),
    );
    assert.equal(await databases.size("x"), 0);
  });

  test("runs many megabytes as they arrive", async (t) => {
    const databases = open(t);
    const line = Buffer.from(`insert into t(a) values ('${"some words ".repeat(80)}');\n`);
    const many = Buffer.concat(Array.from({ length: 400 }, () => line));
    const head = Buffer.from("create table t(a);");
    async function* pieces() {
      yield head;
      for (let i = 0; i < 100; i++) yield many;
    }
    const done = await databases.import("x", {
      open: () => Readable.from(pieces(), { objectMode: false }),
      size: head.length + 100 * many.length,
      mark: 1,
    });
    assert.deepEqual([done.statements, done.rowsWritten], [40_001, 40_000]);
    assert.deepEqual(await rows(databases, "x", "select count(*) from t"), [[40_000]]);
  });

  test("leaves the database unchanged if it is killed together with its server", async (t) => {
    const databases = open(t);
    await rows(databases, "x", "create table t(a)", "insert into t values ('before')");
    const directory = mkdtempSync(join(tmpdir(), "d1-import-killed-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const server = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `
      const { createD1Databases } = await import(${JSON.stringify(new URL("../databases.ts", import.meta.url).href)});
      const { Readable } = await import("node:stream");
      const databases = createD1Databases({ directory: ${JSON.stringify(directory)} });
      await databases.query("x", [{ sql: "create table t(a)" }, { sql: "insert into t values ('before')" }]);
      async function* sql() {
        for (;;) yield Buffer.from("insert into t values ('" + "x".repeat(1000) + "');");
      }
      databases.import("x", { open: () => Readable.from(sql(), { objectMode: false }), size: 1e9, mark: 1 });
    `,
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    t.after(() => void server.kill("SIGKILL"));
    const log = join(directory, "x.sqlite-wal");
    const gone = once(server, "exit");
    while (!existsSync(log) || statSync(log).size < 70_000_000) {
      assert.equal(server.exitCode, null, "the import ended");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    server.kill("SIGKILL");
    await gone;
    const again = createD1Databases({ directory });
    t.after(() => again.close());
    assert.deepEqual(await rows(again, "x", "select a from t"), [["before"]]);
    assert.deepEqual(await rows(again, "x", "pragma quick_check"), [["ok"]]);
  });
});

describe("a database as SQL", () => {
  test("recreates the same database", async (t) => {
    const databases = open(t);
    await bring(databases, "x", SCHEMA);
    await rows(
      databases,
      "x",
      "insert into parent(name) values ('one'), ('t''wo\nlines'), ('three')",
      "delete from parent where id = 3",
      `insert into "odd ""name"(a, "c d", parent) values (1, x'00ff', 1), (1.5, null, 2)`,
      "insert into plain values ('k', 9007199254740993)",
    );
    const sql = await fetchSql(databases, "x");
    await bring(databases, "y", sql);
    assert.equal(await fetchSql(databases, "y"), sql);
    assert.deepEqual(await rows(databases, "y", `select a, b, hex("c d"), parent from "odd ""name"`), [
      [1, 2, "00FF", 1],
      [1.5, 2.5, "", 2],
    ]);
    assert.deepEqual(await rows(databases, "y", "insert into parent(name) values ('four') returning id"), [[4]]);
    assert.deepEqual(await rows(databases, "y", "select cast(y as text) from plain"), [["9007199254740993"]]);
  });

  test("restores any value exactly", async (t) => {
    const databases = open(t);
    const value = oneof(
      maxSafeInteger(),
      double({ noNaN: true }),
      string({ unit: "binary" }),
      constant(null),
      uint8Array({ maxLength: 20 }),
    );
    let n = 0;
    await check(
      asyncProperty(array(value, { minLength: 1, maxLength: 50 }), async (values) => {
        const [from, to] = [`from${++n}`, `to${n}`];
        const wellFormed = values.map((entry) =>
          typeof entry === "string" ? entry.toWellFormed() : entry instanceof Uint8Array ? [...entry] : entry,
        );
        // JSON has no infinity.
        const sent = wellFormed.map((entry) => (typeof entry === "number" && !Number.isFinite(entry) ? null : entry));
        await databases.query(from, [
          { sql: "create table t(a)" },
          { sql: "insert into t values (9e999), (-9e999)" },
          ...sent.map((entry) => ({ sql: "insert into t values (?)", params: [entry] })),
        ]);
        await bring(databases, to, await fetchSql(databases, from));
        const all = "select typeof(a), hex(a), a from t order by rowid";
        assert.deepEqual(await rows(databases, to, all), await rows(databases, from, all));
      }),
      { numRuns: 6 },
    );
  });

  test("can contain a row of the maximum size", async (t) => {
    const databases = open(t);
    await rows(
      databases,
      "x",
      "create table t(a)",
      "insert into t values (zeroblob(1999000))",
      "insert into t values (replace(hex(zeroblob(900000)), '0', ''''))",
    );
    await bring(databases, "y", await fetchSql(databases, "x"));
    assert.deepEqual(await rows(databases, "y", "select length(a) from t"), [[1_999_000], [1_800_000]]);
  });

  test("can contain only some tables, only the schema or only the rows", async (t) => {
    const databases = open(t);
    await bring(
      databases,
      "x",
      "create table a(x); create table b(x); create index ia on a(x); create view v as select * from b; insert into a values (1); insert into b values (2);",
    );
    const lines = async (options: Partial<ExportOptions>) =>
      (await fetchSql(databases, "x", options)).trimEnd().split("\n").slice(1);
    assert.deepEqual(await lines({ tables: ["A"] }), [
      "CREATE TABLE a(x);",
      'INSERT INTO "a" ("x") VALUES(1);',
      "CREATE INDEX ia on a(x);",
    ]);
    assert.deepEqual(await lines({ noData: true, tables: ["b"] }), ["CREATE TABLE b(x);"]);
    assert.deepEqual(await lines({ noSchema: true }), [
      'INSERT INTO "a" ("x") VALUES(1);',
      'INSERT INTO "b" ("x") VALUES(2);',
    ]);
    await assert.rejects(lines({ tables: ["a", "nope"] }), text("no such table: nope: SQLITE_ERROR"));
    await rows(databases, "x", "create virtual table f using fts5(w)");
    await assert.rejects(lines({}), text("D1 Export error: cannot export databases with Virtual Tables (fts5)"));
    assert.equal((await lines({ tables: ["a"] })).length, 3);
  });
});
