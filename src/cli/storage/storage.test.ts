import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ACCOUNT, TOKEN, folderWith, runCli, startFakeApi, type SeenRequest } from "../cli.testing.ts";
import { batches } from "./batches.ts";

const BASE = `/accounts/${ACCOUNT}`;
const KV = `${BASE}/storage/kv/namespaces/kv-live`;
const DB = `${BASE}/d1/database/db-live`;
const configuration = {
  "wrangler.json": JSON.stringify({
    name: "letters",
    kv_namespaces: [{ binding: "NOTES", id: "kv-live", preview_id: "kv-preview" }, { binding: "EMPTY" }],
    d1_databases: [
      {
        binding: "DB",
        database_name: "letters",
        database_id: "db-live",
        migrations_dir: "sql",
        migrations_table: "done",
      },
    ],
  }),
};
const sqlOf = ({ body }: SeenRequest) => (JSON.parse(body.toString()) as { sql: string }).sql;

test("selects a namespace by id or binding, or lists the bindings in the error", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${KV}/keys`]: { result: [{ name: "a" }] },
    [`GET ${KV.replace("kv-live", "other")}/keys`]: { result: [] },
  });
  const cwd = await folderWith(t, configuration);
  assert.equal((await runCli(["kv", "key", "list", "-b", "NOTES"], { cwd, api })).stdout, "a\n");
  assert.deepEqual((await runCli(["kv", "key", "list", "--namespace-id", "other", "--json"], { cwd, api })).json, []);
  const why = async (...args: string[]) => (await runCli(["kv", "key", "list", ...args], { cwd, api })).stderr;
  assert.equal(
    await why(),
    "error: No KV namespace specified.\nfix: Pass it with --binding <name> or --namespace-id <id>. Bindings in the configuration: NOTES, EMPTY.\n",
  );
  assert.match(
    await why("-b", "NOTE"),
    /has no KV namespace binding NOTE\.\nfix: Use one of the configured bindings: NOTES, EMPTY\./,
  );
  assert.match(await why("-b", "EMPTY"), /fix: Create it with `reelpost kv namespace create EMPTY`/);
});

test("a value is uploaded from an argument, file or standard input with its metadata and read back byte for byte", async (t) => {
  const bytes = randomBytes(100_000);
  const values = `${KV}/values/a%2Fb%20c`;
  const api = await startFakeApi(t, {
    [`PUT ${values}`]: { result: null },
    [`GET ${values}`]: { raw: bytes, headers: { "content-type": "application/octet-stream" } },
    [`DELETE ${values}`]: { result: null },
  });
  const cwd = await folderWith(t, configuration);
  await writeFile(join(cwd, "in.bin"), bytes);
  const put = (args: string[], stdin?: Uint8Array) =>
    runCli(["kv", "key", "put", "a/b c", ...args, "-b", "NOTES"], { cwd, api, ...(stdin !== undefined && { stdin }) });
  for (const ran of [
    await put(["word", "--ttl", "60"]),
    await put(["--path", "in.bin"]),
    await put([], bytes),
    await put(["word", "--metadata", '{"by":"ada"}']),
  ])
    assert.equal(ran.code, 0, ran.stderr);
  const [word, file, input, form] = api.seen;
  assert.deepEqual([word!.body.toString(), word!.path.split("?")[1]], ["word", "expiration_ttl=60"]);
  assert.ok(file!.body.equals(bytes) && input!.body.equals(bytes));
  assert.equal(file!.headers["content-length"], "100000");
  const parts = await new Response(new Uint8Array(form!.body), {
    headers: { "content-type": form!.headers["content-type"]! },
  }).formData();
  assert.deepEqual([await (parts.get("value") as File).text(), parts.get("metadata")], ["word", '{"by":"ada"}']);
  assert.match((await put(["x", "--metadata", "{"])).stderr, /--metadata: it is not JSON/);
  assert.match((await put(["x", "--path", "in.bin"])).stderr, /given both/);
  assert.match((await put(["--path", "none"])).stderr, /Cannot read none: the file does not exist/);
  await runCli(["kv", "key", "get", "a/b c", "-b", "NOTES", "--file", "out.bin"], { cwd, api });
  assert.ok((await readFile(join(cwd, "out.bin"))).equals(bytes));
  assert.equal((await runCli(["kv", "key", "delete", "a/b c", "-b", "NOTES"], { cwd, api })).stdout, "Deleted a/b c\n");
});

test("bulk files are validated before anything is sent, and sent in batches", async (t) => {
  const api = await startFakeApi(t, {
    [`PUT ${KV}/bulk`]: ({ body }) => ({
      result: {
        successful_key_count: (JSON.parse(body.toString()) as unknown[]).length - 1,
        unsuccessful_keys: ["bad"],
      },
    }),
    [`POST ${KV}/bulk/delete`]: { result: null },
  });
  const many = Array.from({ length: 10_001 }, (_, i) => ({ key: `k${i}`, value: "v" }));
  const cwd = await folderWith(t, {
    ...configuration,
    "many.json": JSON.stringify(many),
    "odd.json": '[{"key":"a","value":"b"},{"key":1}]',
    "names.json": '["a",{"name":"b"}]',
  });
  const ran = await runCli(["kv", "bulk", "put", "many.json", "-b", "NOTES", "--json"], { cwd, api });
  assert.deepEqual([ran.code, ran.json.written, ran.json.failed], [1, 9999, ["bad", "bad"]]);
  assert.deepEqual(
    api.bodies(`PUT ${KV}/bulk`).map((body) => (body as unknown[]).length),
    [10_000, 1],
  );
  assert.match(
    (await runCli(["kv", "bulk", "put", "odd.json", "-b", "NOTES"], { cwd, api })).stderr,
    /odd\.json: entry 2 is invalid/,
  );
  assert.equal(
    (await runCli(["kv", "bulk", "delete", "names.json", "-b", "NOTES", "--yes"], { cwd, api })).stdout,
    "2 keys deleted\n",
  );
  assert.deepEqual(api.bodies(`POST ${KV}/bulk/delete`), [["a", "b"]]);
  assert.deepEqual(
    [...batches(["aaaa", "bb", "c", "d"], { maxEntries: 2, maxLength: 9 })],
    [["aaaa"], ["bb", "c"], ["d"]],
  );
});

test("uploads an object from a file or a pipe and downloads it again under a key with slashes", async (t) => {
  const bytes = randomBytes(2_000_000);
  const object = `${BASE}/r2/buckets/files/objects/a%20b/%C3%BC.bin`;
  const api = await startFakeApi(t, {
    [`PUT ${object}`]: { result: { key: "a b/ü.bin", size: "2000000" } },
    [`GET ${object}`]: { raw: bytes, headers: { "content-length": "2000000" } },
    [`DELETE ${object}`]: { result: {} },
  });
  const cwd = await folderWith(t);
  await writeFile(join(cwd, "in.bin"), bytes);
  const path = "files/a b/ü.bin";
  assert.equal(
    (await runCli(["r2", "object", "put", path, "--file", "in.bin", "--content-type", "image/png"], { cwd, api }))
      .stdout,
    `Uploaded ${path} (1.9 MB)\n`,
  );
  assert.equal((await runCli(["r2", "object", "put", path, "--pipe"], { cwd, api, stdin: bytes })).code, 0);
  assert.ok(api.seen.every(({ body }) => body.equals(bytes)));
  assert.deepEqual(
    api.seen.map(({ headers }) => [headers["content-length"], headers["transfer-encoding"], headers["content-type"]]),
    [
      ["2000000", undefined, "image/png"],
      [undefined, "chunked", undefined],
    ],
  );
  assert.equal((await runCli(["r2", "object", "get", path], { cwd, api })).stdout, "Wrote ü.bin (1.9 MB)\n");
  assert.ok((await readFile(join(cwd, "ü.bin"))).equals(bytes));
  for (const [args, why] of [
    [["put", path], /one of --file and --pipe/],
    [["get", "files"], /it does not specify an object/],
    [["get", "files/a/.."], /its last part is not a file name/],
    [["get", path, "--file", "no/such/place"], /Cannot write no\/such\/place/],
  ] as const)
    assert.match((await runCli(["r2", "object", ...args], { cwd, api })).stderr, why);
  assert.deepEqual((await readdir(cwd)).sort(), ["in.bin", "ü.bin"]);
});

test("an interrupted download leaves no file", async (t) => {
  const api = await startFakeApi(t, {});
  api.server.removeAllListeners("request").on("request", (_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("half");
    setImmediate(() => response.destroy());
  });
  const cwd = await folderWith(t);
  const ran = await runCli(["r2", "object", "get", "files/x", "--file", "out"], { cwd, api });
  assert.deepEqual([ran.code, await readdir(cwd)], [1, []]);
  assert.match(ran.stderr, /was interrupted/);
});

test("prints the rows of an SQL command, and finds a database by binding, name or id", async (t) => {
  const id = "0a1b2c3d-0000-4000-8000-000000000000";
  const rows = {
    success: true,
    results: [
      { id: 1, name: null },
      { id: 2, name: "ada\u001B[2J" },
    ],
    meta: { duration: 1.2, changes: 0 },
  };
  const api = await startFakeApi(t, {
    [`POST ${DB}/query`]: { result: [rows, { success: true, results: [], meta: { changes: 1 } }] },
    [`POST ${BASE}/d1/database/${id}/query`]: { result: [rows] },
    [`GET ${BASE}/d1/database`]: {
      result: [{ uuid: id, name: "by name" }],
      result_info: { page: 1, per_page: 100, total_count: 1 },
    },
    [`GET ${BASE}/d1/database/nothing`]: { status: 404, errors: [{ code: 7404, message: "not found" }] },
  });
  const cwd = await folderWith(t, configuration);
  const run = (...args: string[]) => runCli(["d1", "execute", ...args], { cwd, api });
  assert.equal(
    (await run("DB", "--command", "SELECT 1; UPDATE x SET y = 1")).stdout,
    "id  name\n1   NULL\n2   ada\\x1b[2J\n2 rows, 1ms\n0 rows, 1 row changed\n",
  );
  for (const name of ["letters", "db-live"]) assert.equal((await run(name, "--command", "SELECT 1")).code, 0);
  for (const name of ["by name", id])
    assert.deepEqual((await run(name, "--command", "SELECT 1", "--json")).json, [rows]);
  assert.match((await run("nothing", "--command", "SELECT 1")).stderr, /There is no D1 database nothing\./);
  assert.match((await run("DB")).stderr, /one of --command and --file/);
});

test("a file is uploaded without the token to the URL the server returns, then imported while the command polls", async (t) => {
  const sql = "INSERT INTO x VALUES (1);\n";
  let polls = 0;
  const api = await startFakeApi(t, {
    [`POST ${DB}/import`]: ({ body }, url) => {
      const { action } = JSON.parse(body.toString()) as { action: string };
      if (action === "init")
        return { result: { filename: "f1", upload_url: new URL("/client/v4/put/here", url).href } };
      if (action === "ingest")
        return { result: { status: "active", at_bookmark: "b1", success: true, messages: ["taking in"] } };
      return {
        result:
          ++polls < 2
            ? { status: "active", at_bookmark: "b2", success: true }
            : { status: "complete", success: true, result: { num_queries: 1 } },
      };
    },
    "PUT /put/here": { raw: "" },
  });
  const cwd = await folderWith(t, { ...configuration, "f.sql": sql });
  assert.match(
    (await runCli(["d1", "execute", "DB", "--file", "f.sql"], { cwd, api })).stderr,
    /Cannot prompt: stdin is not a terminal/,
  );
  assert.equal(
    (await runCli(["d1", "execute", "DB", "--file", "f.sql", "--yes"], { cwd, api })).stdout,
    "f.sql: 1 statement executed\n",
  );
  const upload = api.seen.find(({ path }) => path === "/put/here")!;
  assert.deepEqual([upload.body.toString(), upload.headers.authorization], [sql, undefined]);
  const etag = createHash("md5").update(sql).digest("hex");
  assert.deepEqual(api.bodies(`POST ${DB}/import`), [
    { action: "init", etag },
    { action: "ingest", filename: "f1", etag },
    { action: "poll", current_bookmark: "b1" },
    { action: "poll", current_bookmark: "b2" },
  ]);
  assert.ok(
    api.seen
      .filter(({ path }) => path !== "/put/here")
      .every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`),
  );
});

test("a failed import reports the reason", async (t) => {
  const api = await startFakeApi(t, {
    [`POST ${DB}/import`]: { result: { success: false, status: "error", errors: ['near "INSRT": syntax error'] } },
  });
  const cwd = await folderWith(t, { ...configuration, "f.sql": "INSRT" });
  const ran = await runCli(["d1", "execute", "DB", "--file", "f.sql", "--yes"], { cwd, api });
  assert.deepEqual(
    [ran.code, ran.stderr.split("\n")[0]],
    [1, 'error: The server reported an error: near "INSRT": syntax error'],
  );
});

test("an export is fetched from the URL the server returns", async (t) => {
  const api = await startFakeApi(t, {
    [`POST ${DB}/export`]: ({ body }, url) => ({
      result:
        (JSON.parse(body.toString()) as { current_bookmark?: string }).current_bookmark === undefined
          ? { status: "active", success: true, at_bookmark: "b" }
          : { status: "complete", success: true, result: { filename: "x.sql", signed_url: `${url}/the/file` } },
    }),
    "GET /the/file": { raw: "CREATE TABLE x (a);\n" },
  });
  const cwd = await folderWith(t, configuration);
  assert.equal(
    (await runCli(["d1", "export", "DB", "--no-data", "--table", "x"], { cwd, api })).stdout,
    "CREATE TABLE x (a);\n",
  );
  assert.deepEqual(api.bodies(`POST ${DB}/export`)[0], {
    output_format: "polling",
    dump_options: { no_schema: false, no_data: true, tables: ["x"] },
  });
  assert.equal(api.seen.at(-1)!.headers.authorization, undefined);
});

test("migrations are numbered, listed and applied in order, and each is recorded", async (t) => {
  const done = ["0001_first.sql"];
  const api = await startFakeApi(t, {
    [`POST ${DB}/query`]: (seen) => {
      const sql = sqlOf(seen);
      if (sql.includes("BROKEN")) return { status: 400, errors: [{ code: 7500, message: "syntax error" }] };
      const mark = /\n;\nINSERT INTO "done" \(name\) VALUES \('(.+)'\);$/.exec(sql);
      if (mark !== null) done.push(mark[1]!.replaceAll("''", "'"));
      return { result: [{ success: true, results: sql.startsWith("SELECT") ? done.map((name) => ({ name })) : [] }] };
    },
  });
  const cwd = await folderWith(t, {
    ...configuration,
    "sql/0001_first.sql": "x",
    "sql/0010_it's.sql": "CREATE TABLE b (x) -- no end",
    "sql/0002_second.sql": "CREATE TABLE a (x);",
    "sql/notes.txt": "",
  });
  const run = (...args: string[]) => runCli(["d1", "migrations", ...args], { cwd, api });
  assert.deepEqual((await run("list", "DB", "--json")).json, ["0002_second.sql", "0010_it's.sql"]);
  assert.equal((await run("apply", "letters")).code, 1);
  assert.equal((await run("apply", "letters", "--yes")).stdout, "Applied 0002_second.sql\nApplied 0010_it's.sql\n");
  assert.equal((await run("list", "DB")).stdout, "DB has no pending migrations\n");
  assert.ok(
    api.seen.some(
      (seen) => sqlOf(seen) === `CREATE TABLE b (x) -- no end\n;\nINSERT INTO "done" (name) VALUES ('0010_it''s.sql');`,
    ),
  );
  assert.equal((await run("create", "DB", "Add users & more!")).stdout, "Created sql/0011_Add_users_more.sql\n");
  await writeFile(join(cwd, "sql/0011_Add_users_more.sql"), "BROKEN");
  await writeFile(join(cwd, "sql/0012_after.sql"), "CREATE TABLE c (x);");
  const failed = await run("apply", "DB", "--yes");
  assert.deepEqual(
    [failed.code, failed.stderr],
    [
      1,
      "error: 0011_Add_users_more.sql failed and was rolled back: syntax error [code: 7500]\nfix: Fix the file and run `d1 migrations apply` again. 0 were applied before it.\n",
    ],
  );
  assert.equal(done.length, 3);
  assert.match((await run("create", "other", "x")).stderr, /has no D1 database other/);
});
