import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { unrestrictedCaller, TEST_ACCOUNT } from "../../api.testing.ts";
import { startD1Api } from "./d1.testing.ts";

const ALL = `/accounts/${TEST_ACCOUNT}/d1/database`;
const UNKNOWN_ID = "0b8ac2f5-6e51-4b0a-8a6e-8b53ee7e4c7a";
// oxlint-disable-next-line no-explicit-any
const refusal = ({ status, body }: { status: number; body: any }) => [
  status,
  body.errors[0].code,
  body.errors[0].message,
];

describe("databases", () => {
  test("are created, found by id and name, changed and deleted", async (t) => {
    const { call } = await startD1Api(t);
    const made = await call("post", ALL, {
      body: { name: "shop", primary_location_hint: "weur", jurisdiction: "eu" },
      headers: { "content-type": "text/plain" },
    });
    assert.equal(made.status, 200);
    const { uuid, created_at: created } = made.body.result;
    assert.match(uuid, /^[0-9a-f-]{36}$/);
    assert.equal(new Date(created).toISOString(), created);
    assert.deepEqual(made.body.result, {
      uuid,
      name: "shop",
      version: "production",
      created_at: created,
      jurisdiction: "eu",
      num_tables: 0,
      file_size: 0,
      read_replication: { mode: "disabled" },
    });

    await call("post", `${ALL}/${uuid}/query`, { body: { sql: "create table a(x); create table b(x)" } });
    const found = (await call("get", `${ALL}/shop`)).body.result;
    assert.deepEqual([found.uuid, found.num_tables, found.file_size > 8192], [uuid, 2, true]);
    assert.deepEqual((await call("get", `${ALL}/shop`, { query: { fields: "uuid,name" } })).body.result, {
      uuid,
      name: "shop",
    });
    assert.equal(
      (await call("put", `${ALL}/${uuid}`, { body: { read_replication: { mode: "auto" } } })).body.result
        .read_replication.mode,
      "auto",
    );
    assert.equal((await call("patch", `${ALL}/${uuid}`, { body: {} })).body.result.read_replication.mode, "auto");
    assert.equal(
      (await call("patch", `${ALL}/${uuid}`, { body: { read_replication: { mode: "disabled" } } })).body.result
        .read_replication.mode,
      "disabled",
    );

    const gone = await call("delete", `${ALL}/${uuid}`);
    assert.deepEqual([gone.status, gone.body.result], [200, null]);
    for (const [method, path, body] of [
      ["get", ""],
      ["delete", ""],
      ["put", "", { read_replication: { mode: "auto" } }],
      ["post", "/query", { sql: "select 1" }],
      ["post", "/export", { output_format: "polling" }],
    ] as const) {
      assert.deepEqual(refusal(await call(method, `${ALL}/${uuid}${path}`, { body })), [
        404,
        7404,
        `The database ${uuid} could not be found`,
      ]);
    }
  });

  test("reject a duplicate name, an invalid name, one database too many, and an unknown database", async (t) => {
    const { call } = await startD1Api(t, { maxDatabases: 2 });
    await call("post", ALL, { body: { name: "shop" } });
    assert.deepEqual(refusal(await call("post", ALL, { body: { name: "shop" } })), [
      400,
      7502,
      "Database with name 'shop' already exists",
    ]);
    assert.deepEqual(refusal(await call("post", ALL, { body: { name: "a b" } })).slice(0, 2), [400, 7400]);
    for (const body of [
      {},
      { name: 5 },
      { name: "x", jurisdiction: "moon" },
      { name: "x", read_replication: { mode: "maybe" } },
    ])
      assert.equal((await call("post", ALL, { body })).status, 400);
    await call("post", ALL, { body: { name: "second" } });
    assert.deepEqual(refusal(await call("post", ALL, { body: { name: "third" } })).slice(0, 2), [403, 7406]);
    for (const id of [UNKNOWN_ID, "nope", "..%2f..", "%00", "x".repeat(300)])
      assert.equal((await call("get", `${ALL}/${id}`)).status, 404, id);
  });

  test("are listed by page, all or filtered by part of the name", async (t) => {
    const { call } = await startD1Api(t);
    for (let i = 0; i < 12; i++) await call("post", ALL, { body: { name: `db-${String(i).padStart(2, "0")}` } });
    const page = await call("get", ALL, { query: { per_page: 10, page: 2 } });
    assert.deepEqual(page.body.result_info, { page: 2, per_page: 10, count: 2, total_count: 12, total_pages: 2 });
    assert.deepEqual(Object.keys(page.body.result[0]).sort(), [
      "created_at",
      "jurisdiction",
      "name",
      "uuid",
      "version",
    ]);
    assert.deepEqual((await call("get", ALL, { query: { per_page: 10, page: 3 } })).body.result, []);
    assert.deepEqual(
      (await call("get", ALL, { query: { name: "DB-1" } })).body.result.map(({ name }: { name: string }) => name),
      ["db-10", "db-11"],
    );
  });

  test("require a permission", async (t) => {
    const { call } = await startD1Api(t, {
      caller: { ...unrestrictedCaller, allows: (permission) => permission === "D1 Read" },
    });
    assert.equal((await call("get", ALL)).status, 200);
    assert.deepEqual(refusal(await call("post", ALL, { body: { name: "x" } })).slice(0, 2), [403, 9109]);
    assert.equal((await call("post", `${ALL}/${UNKNOWN_ID}/query`, { body: { sql: "select 1" } })).status, 403);
  });

  test("are listed even if another process holds their files, but cannot be queried", async (t) => {
    const { call } = await startD1Api(t, { files: false });
    const { uuid } = (await call("post", ALL, { body: { name: "far" } })).body.result;
    assert.deepEqual(Object.keys((await call("get", `${ALL}/${uuid}`)).body.result).includes("file_size"), false);
    assert.deepEqual(
      refusal(await call("post", `${ALL}/${uuid}/query`, { body: { sql: "select 1" } })).slice(0, 2),
      [503, 7500],
    );
  });

  test("return a current bookmark, but no history", async (t) => {
    const { call } = await startD1Api(t);
    const { uuid } = (await call("post", ALL, { body: { name: "now" } })).body.result;
    const bookmark = await call("get", `${ALL}/${uuid}/time_travel/bookmark`);
    assert.match(bookmark.body.result.bookmark, /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/);
    for (const [method, path] of [
      ["get", "bookmark?timestamp=2024-01-01T00:00:00Z"],
      ["post", "restore?timestamp=2024-01-01T00:00:00Z"],
      ["post", `restore?bookmark=${bookmark.body.result.bookmark}`],
    ] as const) {
      const refused = await call(method, `${ALL}/${uuid}/time_travel/${path}`);
      const [status, code, message] = refusal(refused);
      assert.deepEqual([status, code], [400, 7500]);
      assert.match(message as string, /keeps only the current state/);
      assert.match(refused.body.errors[0].error_chain[0].message, /`wrangler d1 export`/);
    }
  });
});

describe("queries", () => {
  test("return one result per statement, with rows as objects or arrays", async (t) => {
    const { call } = await startD1Api(t);
    const { uuid } = (await call("post", ALL, { body: { name: "q" } })).body.result;
    const query = async (body: unknown, how = "query") =>
      (await call("post", `${ALL}/${uuid}/${how}`, { body })).body.result;
    const made = await query({
      sql: "create table t(a integer primary key, b); insert into t(b) values ('x;y'), (2.5); select * from t;",
    });
    assert.deepEqual(
      made.map(({ success, results }: { success: boolean; results: unknown }) => [success, results]),
      [
        [true, []],
        [true, []],
        [
          true,
          [
            { a: 1, b: "x;y" },
            { a: 2, b: 2.5 },
          ],
        ],
      ],
    );
    const { meta } = made[1];
    assert.deepEqual(
      { ...meta, duration: 0, timings: 0 },
      {
        served_by: "reelpost",
        served_by_primary: true,
        timings: 0,
        duration: 0,
        changes: 2,
        last_row_id: 2,
        changed_db: true,
        size_after: 8192,
        rows_read: 0,
        rows_written: 2,
        total_attempts: 1,
      },
    );
    assert.deepEqual(
      (await query({ sql: "select b, a as b from t where a = ?1 or b = ?2", params: ["1", "none"] }, "raw"))[0].results,
      { columns: ["b", "b"], rows: [["x;y", 1]] },
    );
    assert.deepEqual(
      (
        await query({
          batch: [
            { sql: "select ? as n", params: [7] },
            { sql: "select 1 as a; select 2 as a" },
            { sql: "select ? as f", params: [true] },
          ],
        })
      ).map(({ results }: { results: unknown[] }) => results[0]),
      [{ n: 7 }, { a: 1 }, { a: 2 }, { f: 1 }],
    );
    assert.deepEqual((await query({ sql: "select '\"}]' as a" }))[0].results, [{ a: '"}]' }]);
  });

  test("report an error as D1 does, and roll back the whole call", async (t) => {
    const { call } = await startD1Api(t, { limits: { resultBytes: 100_000 } });
    const { uuid } = (await call("post", ALL, { body: { name: "q" } })).body.result;
    const query = (body: unknown) => call("post", `${ALL}/${uuid}/query`, { body });
    await query({ sql: "create table t(a unique)" });
    const mistakes: [body: unknown, message: string][] = [
      [{ sql: "insert into t values (1); select nope" }, "no such column: nope at offset 7: SQLITE_ERROR"],
      [
        { batch: [{ sql: "insert into t values (1)" }, { sql: "insert into t values (1)" }] },
        "UNIQUE constraint failed: t.a: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)",
      ],
      [{ sql: "select ?", params: [] }, "Wrong number of parameter bindings for SQL query."],
      [{ sql: "select 1", params: [1] }, "Wrong number of parameter bindings for SQL query."],
      [{ sql: "select ?; select 2", params: [1] }, "A prepared SQL statement must contain only one statement."],
      [{ sql: " -- nothing" }, "No SQL statements detected."],
      [{ sql: "select ?", params: [{}] }, "Type 'object' not supported for value '[object Object]'"],
      [
        { sql: "with recursive c(x) as (select 1 union all select x + 1 from c limit 50000) select x from c" },
        "The result exceeds 100000 bytes. Read it in pages, with LIMIT and a sort key.",
      ],
    ];
    for (const [body, message] of mistakes) assert.deepEqual(refusal(await query(body)), [400, 7500, message]);
    for (const body of [{}, { sql: 5 }, { batch: [] }, { batch: [{}] }, { sql: "select 1", params: "x" }, "{", []])
      assert.equal((await query(body)).status, 400, JSON.stringify(body));
    assert.deepEqual((await query({ sql: "select count(*) as n from t" })).body.result[0].results, [{ n: 0 }]);
  });

  test("stop at the time limit", async (t) => {
    const { call } = await startD1Api(t, { limits: { requestMs: 500 } });
    const { uuid } = (await call("post", ALL, { body: { name: "q" } })).body.result;
    const sql = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
    assert.deepEqual(refusal(await call("post", `${ALL}/${uuid}/query`, { body: { sql } })), [
      400,
      7500,
      "D1 DB exceeded its CPU time limit and was reset.",
    ]);
  });

  test("accept a body at the size limit and reject a larger one", async (t) => {
    const { call } = await startD1Api(t, { limits: { requestBytes: 4_000_000 } });
    const { uuid } = (await call("post", ALL, { body: { name: "q" } })).body.result;
    const sent = (length: number) =>
      call("post", `${ALL}/${uuid}/query`, { body: { sql: "select length(?) as n", params: ["x".repeat(length)] } });
    assert.deepEqual((await sent(1_900_000)).body.result[0].results, [{ n: 1_900_000 }]);
    assert.deepEqual(refusal(await sent(4_000_000)).slice(0, 2), [413, 10413]);
  });
});
