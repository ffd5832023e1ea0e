import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { openDatabase, type OpenDatabase } from "./database.ts";
import { d1Limits } from "./limits.ts";

let folder: string;
let database: OpenDatabase;
let files = 0;

before(() => void (folder = mkdtempSync(join(tmpdir(), "d1-database-"))));
after(() => rmSync(folder, { recursive: true, force: true }));
beforeEach((t) => {
  database = openDatabase(join(folder, `${++files}.sqlite`), { ...d1Limits, resultBytes: 20_000 });
  (t as import("node:test").TestContext).after(() => database.close());
});

const query = (sql: string, params?: unknown[]) =>
  JSON.parse(database.run([{ sql, params }], { format: "ROWS_AND_COLUMNS", script: false }));
const rows = (sql: string, params?: unknown[]) => query(sql, params)[0].results.rows;
const batch = (...sql: string[]) =>
  JSON.parse(
    database.run(
      sql.map((text) => ({ sql: text })),
      { format: "NONE", script: false },
    ),
  );
const script = (...sql: string[]) =>
  JSON.parse(
    database.run(
      sql.map((text) => ({ sql: text })),
      { format: "NONE", script: true },
    ),
  );

const NO_TRANSACTIONS =
  "To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. " +
  "The JavaScript API is safer because it will automatically roll back on exceptions, and because it interacts correctly with Durable Objects' automatic atomic write coalescing.";

describe("errors have the messages of the real runtime", () => {
  // Left: statements run in workerd on 2026-10-23 with `t (id integer primary key, name text)`. Right: the resulting
  // errors.
  const said: [sql: string, error: string][] = [
    ["select nope from t", "no such column: nope at offset 7: SQLITE_ERROR"],
    ["select t.nope from t", "no such column: t.nope at offset 7: SQLITE_ERROR"],
    ["select 1 from t where nope2=1", "no such column: nope2 at offset 22: SQLITE_ERROR"],
    ["select 'é', nope from t", "no such column: nope at offset 13: SQLITE_ERROR"],
    ["select * from nope", "no such table: nope: SQLITE_ERROR"],
    ["selec 1", 'near "selec": syntax error at offset 0: SQLITE_ERROR'],
    ["select a.b.c.d", 'near ".": syntax error at offset 12: SQLITE_ERROR'],
    ["select count(*) from", "incomplete input: SQLITE_ERROR"],
    ["select 'unterminated", 'unrecognized token: "\'unterminated" at offset 7: SQLITE_ERROR'],
    ["select nofn(1)", "no such function: nofn at offset 7: SQLITE_ERROR"],
    ["select max()", "wrong number of arguments to function max() at offset 7: SQLITE_ERROR"],
    ["select id from t a, t b", "ambiguous column name: id at offset 7: SQLITE_ERROR"],
    ["create table t(a)", "table t already exists at offset 13: SQLITE_ERROR"],
    ["insert into t(nope) values(1)", "table t has no column named nope: SQLITE_ERROR"],
    [
      "insert into t(id) values (1)",
      "UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
    ],
    [
      "insert into t(must) values (null)",
      "NOT NULL constraint failed: t.must: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_NOTNULL)",
    ],
    [
      "insert into t(small) values (11)",
      "CHECK constraint failed: small < 10: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)",
    ],
    [`select ${Array(101).fill("?").join(",")}`, "too many SQL variables at offset 207: SQLITE_ERROR"],
    [`select ${Array(101).fill("1").join(",")}`, "too many columns in result set: SQLITE_ERROR"],
    [
      `create table w(${Array.from({ length: 101 }, (_, i) => `c${i}`).join(",")})`,
      "too many columns on w: SQLITE_ERROR",
    ],
    [`select '${"x".repeat(100_000)}'`, "statement too long: SQLITE_TOOBIG"],
    [`select 'a' like '${"%a".repeat(30)}'`, "LIKE or GLOB pattern too complex: SQLITE_ERROR"],
    ["BEGIN TRANSACTION", NO_TRANSACTIONS],
    ["SAVEPOINT x", NO_TRANSACTIONS],
    ["COMMIT", NO_TRANSACTIONS],
    ["ROLLBACK", NO_TRANSACTIONS],
    ["ATTACH '/tmp/x.db' as x", "not authorized: SQLITE_AUTH"],
    ["DETACH main", "not authorized: SQLITE_AUTH"],
    ["VACUUM", "cannot VACUUM from within a transaction: SQLITE_ERROR"],
    ["VACUUM INTO '/tmp/y.db'", "cannot VACUUM from within a transaction: SQLITE_ERROR"],
    ["select sqlite_version()", "not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR"],
    ["create temp table tt(a)", "not authorized: SQLITE_AUTH"],
    ["create temp trigger tg after insert on t begin select 1; end", "not authorized: SQLITE_AUTH"],
    ["create temp view tv as select 1", "not authorized: SQLITE_AUTH"],
    ["create virtual table ft4 using fts4(a)", "not authorized: SQLITE_AUTH"],
    ["create table _cf_a(a)", "not authorized: SQLITE_AUTH"],
    ["select * from pragma_database_list", "not authorized: SQLITE_AUTH"],
    ...[
      "journal_mode",
      "journal_mode = delete",
      "synchronous = off",
      "wal_checkpoint",
      "user_version = 5",
      "locking_mode = exclusive",
      "writable_schema = on",
      "temp_store_directory = '/tmp'",
      "mmap_size",
      "max_page_count",
      "cache_size = 10",
      "busy_timeout",
      "query_only = on",
      "table_info",
      "page_size = 512",
      "nonsense",
    ].map((pragma): [string, string] => [`PRAGMA ${pragma}`, "not authorized: SQLITE_AUTH"]),
    ["select ?", "Wrong number of parameter bindings for SQL query."],
    ["select 1; select 2", "A prepared SQL statement must contain only one statement."],
    ["-- nothing", "No SQL statements detected."],
  ];
  for (const [sql, error] of said) {
    test(sql.slice(0, 70), () => {
      batch(
        "create table t (id integer primary key, name text, small integer check(small < 10), must text not null default '')",
        "insert into t(id) values (1)",
      );
      assert.deepEqual(query(sql, sql.startsWith("select ?,") ? Array(101).fill(1) : []), { success: false, error });
    });
  }

  test("for load_extension", () => assert.match(query("select load_extension('x')").error, /^not authorized/));
  test("for a value over 2 MB", () =>
    assert.equal(query("select randomblob(2000001)").error, "string or blob too big: SQLITE_TOOBIG"));
  test("for a foreign key that is checked only at commit", () => {
    batch(
      "create table a(id integer primary key)",
      "create table b(a integer references a(id) deferrable initially deferred)",
    );
    assert.equal(
      query("insert into b values (9)").error,
      "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
    );
    assert.deepEqual(rows("select count(*) from b"), [[0]]);
  });
  test("except for a response that is too large", () => {
    const endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select 'a long text' from c";
    assert.match(query(endless).error, /exceeds 20000 bytes/);
    assert.deepEqual(rows("select 1"), [[1]]);
  });
  test("for a full database", () => {
    const small = openDatabase(join(folder, "small.sqlite"), { ...d1Limits, databaseBytes: 40_960 });
    const run = (sql: string) => JSON.parse(small.run([{ sql }], { format: "NONE", script: false }));
    run("create table t(b)");
    assert.equal(run("insert into t values (zeroblob(100000))").error, "Exceeded maximum DB size");
    assert.equal(run("select count(*) as n from t")[0].results[0].n, 0);
    small.close();
  });
});

describe("values", () => {
  test("null, numbers, text, bytes and booleans round-trip", () => {
    batch("create table t(a, b, c, d, e)");
    query("insert into t values (?, ?, ?, ?, ?)", [null, 1.5, "é\u{1f600}", [0, 255], true]);
    assert.deepEqual(rows("select * from t"), [[null, 1.5, "é\u{1f600}", [0, 255], 1]]);
    assert.deepEqual(rows("select typeof(?), typeof(?), typeof(?)", [1, "1", []]), [["real", "text", "blob"]]);
  });
  test("integers beyond 2^53 lose precision, and infinity becomes null", () => {
    assert.deepEqual(rows("select 9007199254740993, 9e999"), [[9007199254740992, null]]);
  });
  test("numbered and named parameters take values in SQLite's order", () => {
    assert.deepEqual(rows("select ?2, ?1, ?2", ["a", "b"]), [["b", "a", "b"]]);
    assert.deepEqual(rows("select :x, @y, :x", ["a", "b"]), [["a", "b", "a"]]);
  });
  test("an object as a value is rejected", () =>
    assert.equal(query("select ?", [{}]).error, "Type 'object' not supported for value '[object Object]'"));
  test("double quotes that do not match a column enclose text", () =>
    assert.deepEqual(rows('select "Bs Beverages"'), [["Bs Beverages"]]));
});

describe("results", () => {
  test("rows preserve columns of the same name, and in objects the last one wins", () => {
    assert.deepEqual(query("select 1 as a, 2 as a")[0].results, { columns: ["a", "a"], rows: [[1, 2]] });
    assert.deepEqual(batch("select 1 as a, 2 as a, 3 as __proto__")[0].results, JSON.parse('[{"a":2,"__proto__":3}]'));
  });
  test("an empty result still has column names", () =>
    assert.deepEqual(query("select 1 as a where 0")[0].results, { columns: ["a"], rows: [] }));
  test("columns follow the schema even for a cached statement", () => {
    batch("create table t(a)", "insert into t values (1)");
    assert.deepEqual(query("select * from t")[0].results, { columns: ["a"], rows: [[1]] });
    batch("alter table t add column b");
    assert.deepEqual(query("select * from t")[0].results, { columns: ["a", "b"], rows: [[1, null]] });
  });
  test("meta contains the counters", () => {
    batch("create table t(id integer primary key, a)");
    const inserted = query("insert into t(a) values (1), (2), (3) returning id")[0];
    assert.deepEqual(inserted.results.rows, [[1], [2], [3]]);
    const { changes, last_row_id, changed_db, size_after, rows_written } = inserted.meta;
    assert.deepEqual(
      { changes, last_row_id, changed_db, size_after, rows_written },
      { changes: 3, last_row_id: 3, changed_db: true, size_after: 8192, rows_written: 3 },
    );
    const read = query("select * from t")[0].meta;
    assert.deepEqual([read.changes, read.changed_db, read.rows_read, read.rows_written], [0, false, 3, 0]);
    assert.ok(read.duration > 0 && read.duration === read.timings.sql_duration_ms);
  });
});

describe("transactions", () => {
  test("a batch is applied completely or not at all", () => {
    batch("create table t(a)");
    assert.match(
      batch("insert into t values (1)", "insert into nope values (2)", "insert into t values (3)").error,
      /no such table: nope/,
    );
    assert.deepEqual(rows("select count(*) from t"), [[0]]);
    assert.equal(batch("insert into t values (1)", "insert into t values (2)").length, 2);
    assert.deepEqual(rows("select count(*) from t"), [[2]]);
  });
  test("a failed statement works again with other values", () => {
    batch("create table t(id integer primary key)", "insert into t values (1)");
    assert.match(query("insert into t values (?)", [1]).error, /^UNIQUE/);
    assert.equal(query("insert into t values (?)", [2])[0].success, true);
  });
  test("RAISE(ROLLBACK) leaves nothing behind, and the database stays usable", () => {
    batch(
      "create table t(a)",
      "create trigger x after insert on t when new.a = 2 begin select raise(rollback, 'no twos'); end",
    );
    assert.equal(
      batch("insert into t values (1)", "insert into t values (2)").error,
      "no twos: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_TRIGGER)",
    );
    assert.deepEqual(rows("select count(*) from t"), [[0]]);
  });
  test("a script runs all statements of all lines or none, and reports the line that failed", () => {
    assert.equal(
      script("create table t(a); insert into t values (1);", "-- a comment", "", "insert into t values (2)").length,
      3,
    );
    const failed = script("insert into t values (3)", "insert into t values (4); select nope;", "select 1");
    assert.deepEqual(
      failed.map(({ error }: { error?: string }) => error),
      [undefined, "no such column: nope at offset 7: SQLITE_ERROR"],
    );
    assert.deepEqual(rows("select count(*) from t"), [[2]]);
    assert.deepEqual(
      script("").map(({ error }: { error?: string }) => error),
      ["No SQL statements detected."],
    );
  });
  test("foreign keys are checked, and the check can be deferred to the end of a batch", () => {
    batch("create table a(id integer primary key)", "create table b(a integer references a(id))");
    assert.match(batch("insert into b values (1)", "insert into a values (1)").error, /FOREIGN KEY/);
    assert.equal(
      batch("pragma defer_foreign_keys = on", "insert into b values (1)", "insert into a values (1)").length,
      3,
    );
    assert.match(query("insert into b values (2)").error, /FOREIGN KEY/);
  });
  test("the effect of a pragma ends with its request", () => {
    assert.deepEqual(batch("pragma case_sensitive_like = on", "select 'a' like 'A' as same")[1].results, [{ same: 0 }]);
    assert.deepEqual(rows("select 'a' like 'A'"), [[1]]);
    assert.deepEqual(batch("pragma case_sensitive_like = on", "select 'a' like 'A' as same")[1].results, [{ same: 0 }]);
  });
  test("read-only pragmas are allowed", () => {
    batch("create table t(id integer primary key, name text)");
    assert.deepEqual(
      rows("pragma table_info(t)").map(([, name]: unknown[]) => name),
      ["id", "name"],
    );
    assert.deepEqual(rows("select name from pragma_table_info('t')"), [["id"], ["name"]]);
    for (const pragma of [
      "table_list",
      "index_list(t)",
      "foreign_key_list(t)",
      "quick_check",
      "foreign_key_check",
      "optimize",
      "data_version",
      "page_size",
    ])
      assert.ok(Array.isArray(query(`pragma ${pragma}`)), pragma);
  });
  test("full-text search is available", () => {
    batch("create virtual table f using fts5(a)", "insert into f values ('some words')");
    assert.deepEqual(rows("select a from f where f match 'words'"), [["some words"]]);
  });
});
