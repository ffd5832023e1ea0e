import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { startD1Api, type D1ApiOptions } from "./d1.testing.ts";

const ALL = `/accounts/${TEST_ACCOUNT}/d1/database`;
const md5 = (text: string | Uint8Array) => createHash("md5").update(text).digest("hex");

async function start(scope: { after(end: () => Promise<void>): void }, options: D1ApiOptions = {}) {
  const api = await startD1Api(scope, options);
  const { uuid } = (await api.call("post", ALL, { body: { name: "shop" } })).body.result;
  const post = (what: string, body: unknown) => api.call("post", `${ALL}/${uuid}/${what}`, { body });
  const rows = async (sql: string) => (await post("raw", { sql })).body.result[0].results.rows;
  /** Imports like `wrangler d1 execute --file`. */
  async function execute(sql: string, { etag = md5(sql) } = {}) {
    const { upload_url: url, filename } = (await post("import", { action: "init", etag })).body.result;
    const uploaded = await fetch(url, { method: "PUT", body: sql });
    assert.equal(uploaded.status, 200);
    assert.equal(uploaded.headers.get("etag"), `"${etag}"`);
    return poll(await post("import", { action: "ingest", etag, filename }));
  }
  async function poll(first: { status: number; body: { result: { status: string; at_bookmark: string } } }) {
    let answer = first;
    while (answer.body.result.status === "active") {
      assert.equal(answer.status, 202);
      answer = await post("import", { action: "poll", current_bookmark: answer.body.result.at_bookmark });
    }
    assert.equal(answer.status, 200);
    // oxlint-disable-next-line no-explicit-any
    return answer.body.result as any;
  }
  /** Exports like `wrangler d1 export`. */
  async function dump(options: unknown = {}) {
    let { result } = (await post("export", { output_format: "polling", dump_options: options })).body;
    while (result.status === "active")
      ({ result } = (
        await post("export", { output_format: "polling", dump_options: options, current_bookmark: result.at_bookmark })
      ).body);
    return result;
  }
  return { ...api, uuid, post, rows, execute, dump, poll };
}

const code = ({ status, body }: { status: number; body: { errors: { code: number; message: string }[] } }) => [
  status,
  body.errors[0]!.code,
];

describe("import", () => {
  test("is initiated, uploaded, started and polled until it completes", async (t) => {
    const { execute, rows, objects, uuid } = await start(t);
    const done = await execute("create table t(a);\ninsert into t values (1), (2);");
    assert.deepEqual(
      [done.success, done.type, done.status, done.messages, done.result.num_queries],
      [true, "import", "complete", ["Processed 2 queries."], 2],
    );
    assert.match(done.result.final_bookmark, /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/);
    const { meta } = done.result;
    assert.deepEqual(
      { ...meta, duration: 0 },
      {
        served_by: "reelpost",
        served_by_primary: true,
        duration: 0,
        changes: 2,
        last_row_id: 2,
        changed_db: true,
        size_after: 8192,
        rows_read: 0,
        rows_written: 2,
      },
    );
    assert.deepEqual(await rows("select * from t"), [[1], [2]]);
    for await (const { key } of objects.list("d1-transfers/")) assert.fail(`${key} of ${uuid} remains`);
    // Importing the same file again is a separate import.
    assert.equal((await execute("insert into t values (3);")).result.num_queries, 1);
    assert.equal((await execute("insert into t values (3);")).result.num_queries, 1);
    assert.deepEqual(await rows("select count(*) from t"), [[4]]);
  });

  test("reports an error in the file and rolls back everything", async (t) => {
    const { execute, rows } = await start(t);
    await execute("create table t(a)");
    const failed = await execute("insert into t values (1);\nselec 1;");
    assert.deepEqual(
      [failed.success, failed.status, failed.error, failed.errors],
      [false, "error", 'near "selec": syntax error at offset 0: SQLITE_ERROR (statement 2, line 2)', [failed.error]],
    );
    assert.deepEqual(await rows("select count(*) from t"), [[0]]);
    assert.equal((await execute("insert into t values (1);")).status, "complete");
  });

  test("rejects a different file, a file that is too large, a missing file, and unknown links and bookmarks", async (t) => {
    const { post, origin, call, uuid, execute } = await start(t, { limits: { importBytes: 1_000 } });
    for (const etag of ["", "xyz", "0".repeat(31)])
      assert.deepEqual(code(await post("import", { action: "init", etag })), [400, 7400]);
    for (const body of [
      {},
      { action: "init" },
      { action: "begin", etag: md5("") },
      { action: "ingest", etag: md5("") },
    ])
      assert.equal((await post("import", body)).status, 400);
    const etag = md5("select 1");
    const { upload_url: url, filename } = (await post("import", { action: "init", etag })).body.result;
    assert.equal(filename, `${uuid}-${etag}.sql`);
    assert.ok(url.startsWith(`${origin}/d1/transfers/`));
    const other = await fetch(url, { method: "PUT", body: "select 2" });
    assert.equal(other.status, 400);
    assert.match(await other.text(), /declared MD5: expected \w+, received /);
    assert.deepEqual(code(await post("import", { action: "ingest", etag, filename })), [400, 7500]);
    const large = await fetch(url, { method: "PUT", body: "x".repeat(1_001) });
    assert.deepEqual([large.status, (await large.text()).includes("1000 bytes")], [413, true]);
    assert.equal((await fetch(url)).status, 404);
    assert.equal((await fetch(url, { method: "POST" })).status, 405);
    for (const path of ["nothing/x.sql", "", "%00"])
      assert.equal((await fetch(`${origin}/d1/transfers/${path}`, { method: "PUT", body: "x" })).status, 404);
    assert.deepEqual(code(await post("import", { action: "poll", current_bookmark: "nonsense" })), [400, 7500]);

    const done = await execute("select 1");
    const second = (await call("post", ALL, { body: { name: "second" } })).body.result.uuid;
    assert.deepEqual(
      code(
        await call("post", `${ALL}/${second}/import`, { body: { action: "poll", current_bookmark: done.at_bookmark } }),
      ),
      [400, 7500],
    );
    assert.equal((await post("export", { output_format: "polling", current_bookmark: done.at_bookmark })).status, 400);
    // A used link does not accept another upload.
    assert.equal((await fetch(url, { method: "PUT", body: "select 1" })).status, 404);
  });

  test("limits uploaded files that are not yet imported, and counts identical files once", async (t) => {
    const { post } = await start(t);
    const init = (n: number) => post("import", { action: "init", etag: md5(String(n)) });
    const first = (await init(0)).body.result.upload_url;
    for (let n = 1; n < 20; n++) assert.equal((await init(n)).status, 200);
    assert.deepEqual(code(await init(20)), [429, 7500]);
    assert.equal((await init(0)).body.result.upload_url, first);
  });

  test("allows one import per database, and reports a running import to queries and polls", async (t) => {
    const { post, execute, poll } = await start(t, { limits: { importPatienceMs: 100, transferMs: 8_000 } });
    await execute("create table t(a)");
    const send = async (sql: string) => {
      const { upload_url: url, filename } = (await post("import", { action: "init", etag: md5(sql) })).body.result;
      await fetch(url, { method: "PUT", body: sql });
      return { action: "ingest", etag: md5(sql), filename };
    };
    const slow = await send(
      "insert into t values (1); with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
    );
    const quick = await send("select 1");
    const running = post("import", slow).then(poll);
    let reported = await post("query", { sql: "select 1" });
    while (reported.status === 200) reported = await post("query", { sql: "select 1" });
    assert.deepEqual(
      [reported.status, reported.body.errors[0].message],
      [503, "Currently processing a long-running import."],
    );
    assert.deepEqual(code(await post("import", quick)), [503, 7500]);
    const failed = await running;
    assert.match(failed.error, /took longer than 8000 ms/);
    assert.equal((await poll(await post("import", quick))).status, "complete");
  });

  test("is discarded if the database is deleted first", async (t) => {
    const { post, call, uuid, transfers, databases } = await start(t);
    const sql = "create table t(a)";
    const { upload_url: url, filename } = (await post("import", { action: "init", etag: md5(sql) })).body.result;
    await fetch(url, { method: "PUT", body: sql });
    await call("delete", `${ALL}/${uuid}`);
    const { bookmark } = await transfers.import(TEST_ACCOUNT, uuid, { etag: md5(sql), filename });
    const end = await transfers.follow("import", TEST_ACCOUNT, uuid, bookmark);
    assert.deepEqual(
      [end.status, end.status === "error" && end.error],
      ["error", `The database ${uuid} could not be found`],
    );
    assert.equal(await databases!.size(uuid), 0);
  });
});

describe("export", () => {
  test("downloads from a link without a token, and restores the same database", async (t) => {
    const { execute, dump, call, rows } = await start(t);
    await execute(
      "create table t(a integer primary key, b text); insert into t values (1, 'it''s'), (2, null); create index i on t(b);",
    );
    const { status, type, success, messages, at_bookmark: bookmark, result } = await dump();
    assert.deepEqual([status, type, success, messages], ["complete", "export", true, []]);
    assert.match(bookmark, /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/);
    const response = await fetch(result.signed_url);
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "application/sql"]);
    assert.equal(response.headers.get("content-disposition"), `attachment; filename="${result.filename}"`);
    const sql = await response.text();
    assert.deepEqual(sql.trimEnd().split("\n"), [
      "PRAGMA defer_foreign_keys=TRUE;",
      "CREATE TABLE t(a integer primary key, b text);",
      `INSERT INTO "t" ("a","b") VALUES(1,'it''s');`,
      `INSERT INTO "t" ("a","b") VALUES(2,NULL);`,
      "CREATE INDEX i on t(b);",
    ]);
    const head = await fetch(result.signed_url, { method: "HEAD" });
    assert.equal(Number(head.headers.get("content-length")), Buffer.byteLength(sql));
    assert.equal((await fetch(result.signed_url, { method: "PUT", body: sql })).status, 404);

    assert.equal((await execute("drop table t")).status, "complete");
    assert.equal((await execute(sql)).result.num_queries, 5);
    assert.deepEqual(await rows("select a, quote(b) from t"), [
      [1, "'it''s'"],
      [2, "NULL"],
    ]);
    assert.equal((await call("get", result.signed_url.replace(/^.*\/d1/, "/d1"))).status, 404);
  });

  test("accepts options and reports invalid ones", async (t) => {
    const { execute, dump, post } = await start(t);
    await execute("create table a(x); create table b(x); insert into a values (1);");
    const sql = async (options: unknown) =>
      (await (await fetch((await dump(options)).result.signed_url)).text()).trimEnd().split("\n").slice(1);
    assert.deepEqual(await sql({ no_data: true }), ["CREATE TABLE a(x);", "CREATE TABLE b(x);"]);
    assert.deepEqual(await sql({ no_schema: true, tables: ["a"] }), [`INSERT INTO "a" ("x") VALUES(1);`]);
    assert.deepEqual(await sql({ tables: [], no_data: false, no_schema: false }), [
      "CREATE TABLE a(x);",
      `INSERT INTO "a" ("x") VALUES(1);`,
      "CREATE TABLE b(x);",
    ]);
    const failed = await dump({ tables: ["nope"] });
    assert.deepEqual(
      [failed.success, failed.status, failed.error],
      [false, "error", "no such table: nope: SQLITE_ERROR"],
    );
    assert.equal(
      (await post("export", { output_format: "polling", dump_options: { no_data: true, no_schema: true } })).status,
      400,
    );
    assert.equal((await post("export", { output_format: "dump" })).status, 400);
    assert.equal((await post("export", {})).status, 400);
  });
});
