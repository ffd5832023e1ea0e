import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { buffer } from "node:stream/consumers";
import { createManualClock } from "../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createD1Databases } from "../bindings/d1/index.ts";
import { createKvService, kvMigrations } from "../bindings/kv/index.ts";
import { createR2Service, r2Migrations } from "../bindings/r2/index.ts";
import { importWranglerState } from "./import-state.ts";
import type { WranglerStateImportRequest } from "./port.ts";
import { objectId } from "./state-folder.ts";

async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-state-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...kvMigrations, ...r2Migrations]);
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const clock = createManualClock(Date.parse("2026-11-20"));
  const kv = createKvService({ db, objects, clock });
  const r2 = createR2Service({ db, objects, clock });
  const databases = createD1Databases({ directory: join(folder, "d1") });
  t.after(async () => {
    await databases.close();
    await Promise.all([kv.store.close(), r2.buckets.close()]);
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const state = join(folder, "state");
  const run = (request: Partial<WranglerStateImportRequest> = {}) =>
    importWranglerState(
      { state, kv: [], r2: [], d1: [], overwrite: false, dryRun: false, ...request },
      { kv, r2, d1: { databases }, clock },
    );
  return { state, kv, r2, databases, clock, run };
}

/** Creates a SQLite file with the name that miniflare gives it. */
function createStateFile(state: string, kind: string, className: string, name: string): DatabaseSync {
  const folder = join(state, "v3", kind, `miniflare-${className}`);
  mkdirSync(folder, { recursive: true });
  return new DatabaseSync(join(folder, `${objectId(`miniflare-${className}`, name)}.sqlite`));
}

function writeBlob(state: string, kind: string, name: string, id: string, content: string) {
  const folder = join(state, "v3", kind, name, "blobs");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, id), content);
}

function writeNamespace(
  state: string,
  name: string,
  entries: [key: string, value: string, expires?: number, meta?: string][],
) {
  const db = createStateFile(state, "kv", "KVNamespaceObject", name);
  db.exec("create table _mf_entries (key text primary key, blob_id text not null, expiration integer, metadata text)");
  for (const [i, [key, value, expiration = null, meta = null]] of entries.entries()) {
    writeBlob(state, "kv", name, `b${i}`, value);
    db.prepare("insert into _mf_entries values (?, ?, ?, ?)").run(key, `b${i}`, expiration, meta);
  }
  db.close();
}

const textOf = async (value: unknown) =>
  value instanceof Uint8Array
    ? Buffer.from(value).toString()
    : (await buffer(value as AsyncIterable<Buffer>)).toString();

test("keys are copied with metadata and expiration, except expired and existing keys", async (t) => {
  const { state, kv, clock, run } = await setUp(t);
  const expiresAt = clock.now() + 3_600_000;
  writeNamespace(state, "kv-live", [
    ["a", "one", expiresAt, '{"by":"ada"}'],
    ["b", "x".repeat(100_000)],
    ["gone", "old", clock.now() - 1],
  ]);
  writeNamespace(state, "loose", [["k", "v"]]);
  await kv.store.put("mine", "b", Buffer.from("kept"));
  const mapping = { kv: [{ from: ["kv-preview", "kv-live"], to: "mine" }] };
  assert.deepEqual((await run({ ...mapping, dryRun: true })).kv, [
    { from: "kv-live", to: "mine", copied: 3, kept: 0, problems: [] },
    { from: "loose", to: "loose", copied: 1, kept: 0, problems: [] },
  ]);
  assert.equal(await kv.store.get("mine", "a"), undefined);
  assert.deepEqual((await run(mapping)).kv, [
    { from: "kv-live", to: "mine", copied: 1, kept: 1, problems: [] },
    { from: "loose", to: "loose", copied: 1, kept: 0, problems: [] },
  ]);
  const entry = await kv.store.get("mine", "a");
  assert.deepEqual(
    [await textOf(entry!.value), entry!.metadata, entry!.expiration],
    ["one", '{"by":"ada"}', expiresAt / 1000],
  );
  assert.equal(await textOf((await kv.store.get("mine", "b"))!.value), "kept");
  assert.equal(await kv.store.get("mine", "gone"), undefined);
  await run({ ...mapping, overwrite: true });
  assert.equal((await kv.store.get("mine", "b"))!.size, 100_000);
});

test("a value outside the directory of values is not read", async (t) => {
  const { state, kv, run } = await setUp(t);
  writeNamespace(state, "foreign", [["k", "v"]]);
  writeFileSync(join(state, "secret"), "private");
  const db = createStateFile(state, "kv", "KVNamespaceObject", "foreign");
  db.prepare("update _mf_entries set blob_id = ?").run("../../../../secret");
  db.close();
  const [result] = (await run({ kv: [] })).kv;
  assert.equal(result!.copied, 0);
  assert.equal(await kv.store.get("foreign", "k"), undefined);
});

test("symbolic links are not followed", async (t) => {
  const { state, kv, r2, databases, run } = await setUp(t);
  const secret = join(state, "..", "private");
  mkdirSync(secret);
  writeFileSync(join(secret, "key"), "private");
  writeNamespace(state, "linked", [["k", "v"]]);
  const folder = join(state, "v3", "kv", "linked", "blobs");
  const link = { code: "wrangler_state_link" };

  rmSync(join(folder, "b0"));
  symlinkSync(join(secret, "key"), join(folder, "b0"));
  const [value] = (await run()).kv;
  assert.equal(value!.copied, 0);
  assert.match(value!.problems[0]!.reason, /blobs\/b0 is a symbolic link/);
  assert.equal(await kv.store.get("linked", "k"), undefined);

  rmSync(folder, { recursive: true });
  writeFileSync(join(secret, "b0"), "private");
  symlinkSync(secret, folder);
  assert.match((await run()).kv[0]!.problems[0]!.reason, /is a symbolic link/);
  rmSync(join(state, "v3", "kv", "linked"), { recursive: true });
  symlinkSync(secret, join(state, "v3", "kv", "linked"));
  await assert.rejects(run(), link);
  rmSync(join(state, "v3", "kv"), { recursive: true });

  const bucket = createStateFile(state, "r2", "R2BucketObject", "bucket");
  bucket.exec(
    `create table _mf_objects (key text, blob_id text, version text, size integer, etag text, uploaded integer, checksums text, http_metadata text, custom_metadata text);
     create table _mf_multipart_parts (object_key text, part_number integer, blob_id text);
     insert into _mf_objects values ('k', 'x', 'v', 7, '', 0, '{}', '{}', '{}')`,
  );
  bucket.close();
  writeBlob(state, "r2", "bucket", "y", "");
  symlinkSync(join(secret, "key"), join(state, "v3", "r2", "bucket", "blobs", "x"));
  assert.match((await run()).r2[0]!.problems[0]!.reason, /is a symbolic link/);
  assert.equal(await r2.buckets.head("bucket", "k"), undefined);
  rmSync(join(state, "v3", "r2"), { recursive: true });

  const database = new DatabaseSync(join(secret, "other.sqlite"));
  database.exec("create table private (value text)");
  database.close();
  createStateFile(state, "d1", "D1DatabaseObject", "db").close();
  const file = join(
    state,
    "v3",
    "d1",
    "miniflare-D1DatabaseObject",
    `${objectId("miniflare-D1DatabaseObject", "db")}.sqlite`,
  );
  rmSync(file);
  symlinkSync(join(secret, "other.sqlite"), file);
  const d1 = [{ from: ["db"], to: "mine" }];
  await assert.rejects(run({ d1 }), link);
  await assert.rejects(run(), link);
  assert.equal(await databases.size("mine"), 0);
  rmSync(file);
  new DatabaseSync(file).close();
  symlinkSync(join(secret, "key"), `${file}-wal`);
  await assert.rejects(run({ d1 }), link);

  const elsewhere = join(state, "..", "elsewhere");
  symlinkSync(state, elsewhere);
  await assert.rejects(run({ state: elsewhere }), link);
});

test("the first id of a resource takes precedence if several contain the same key", async (t) => {
  const { state, kv, run } = await setUp(t);
  writeNamespace(state, "preview", [["a", "preview"]]);
  writeNamespace(state, "live", [["a", "live"]]);
  for (const overwrite of [false, true]) {
    await run({ kv: [{ from: ["preview", "live"], to: "mine" }], overwrite });
    assert.equal(await textOf((await kv.store.get("mine", "a"))!.value), "preview", `overwrite: ${overwrite}`);
  }
});

test("objects are copied with their metadata, even if another object is damaged", async (t) => {
  const { state, r2, run } = await setUp(t);
  const db = createStateFile(state, "r2", "R2BucketObject", "files");
  db.exec(
    "create table _mf_objects (key text, blob_id text, version text, size integer, etag text, uploaded integer, checksums text, http_metadata text, custom_metadata text); create table _mf_multipart_parts (upload_id text, part_number integer, blob_id text, size integer, etag text, checksum_md5 text, object_key text)",
  );
  const md5 = createHash("md5").update("hello").digest("hex");
  const insertObject = db.prepare("insert into _mf_objects values (?, ?, 'v', ?, ?, 0, ?, ?, ?)");
  writeBlob(state, "r2", "files", "b1", "hello");
  insertObject.run(
    "a/b",
    "b1",
    5,
    md5,
    JSON.stringify({ md5 }),
    '{"contentType":"text/plain","cacheExpiry":1800000000000}',
    '{"by":"ada"}',
  );
  insertObject.run("damaged", "none", 5, md5, "{}", "{}", "{}");
  for (const [i, part] of ["first ", "second"].entries()) {
    writeBlob(state, "r2", "files", `p${i}`, part);
    db.prepare("insert into _mf_multipart_parts values ('u', ?, ?, ?, '', '', 'parts')").run(
      i + 1,
      `p${i}`,
      part.length,
    );
  }
  insertObject.run("parts", null, 12, "x-2", "{}", "{}", "{}");
  db.close();
  const { r2: copiedBuckets } = await run();
  assert.deepEqual(
    copiedBuckets.map(({ problems, ...rest }) => ({ ...rest, problems: problems.map(({ name }) => name) })),
    [{ from: "files", to: "files", copied: 2, kept: 0, problems: ["damaged"] }],
  );
  const foundObject = await r2.buckets.get("files", "a/b");
  assert.deepEqual(
    [
      foundObject!.object.etag,
      foundObject!.object.httpMetadata,
      foundObject!.object.customMetadata,
      await textOf(foundObject!.body),
    ],
    [md5, { contentType: "text/plain", cacheExpiry: new Date(1800000000000) }, { by: "ada" }, "hello"],
  );
  assert.equal(await textOf((await r2.buckets.get("files", "parts"))!.body), "first second");
  assert.equal((await run()).r2[0]!.kept, 2);
});

test("databases are copied without reserved tables, but not over existing tables, and unconfigured ones are only listed", async (t) => {
  const { state, databases, run } = await setUp(t);
  const fill = (name: string, value: string) => {
    const db = createStateFile(state, "d1", "D1DatabaseObject", name);
    db.exec(
      `pragma journal_mode = wal; create table _cf_METADATA (a); create table notes (text); create virtual table search using fts5 (text); insert into notes values ('${value}')`,
    );
    return db;
  };
  // The database is still open, so its rows are in the write-ahead log.
  const openDatabase = fill("letters-id", "from wrangler");
  t.after(() => openDatabase.close());
  fill("other", "x").close();
  const d1 = [{ from: ["letters-id", "DB"], to: "letters" }];
  const notes = async () => (await databases.query("letters", [{ sql: "select text from notes" }]))[0]!.results.rows;
  const result = await run({ d1 });
  assert.deepEqual(
    result.d1.map(({ from, to, kept, problems }) => [from, to, kept, problems]),
    [
      ["letters-id", "letters", 0, []],
      [`${objectId("miniflare-D1DatabaseObject", "other")}.sqlite`, null, 0, []],
    ],
  );
  assert.deepEqual(await notes(), [["from wrangler"]]);
  const reservedTables = await databases.query("letters", [
    { sql: "select name from sqlite_master where name like '%METADATA'" },
  ]);
  assert.deepEqual(reservedTables[0]!.results.rows, []);
  await databases.query("letters", [{ sql: "update notes set text = 'mine'" }]);
  assert.ok((await run({ d1 })).d1[0]!.kept > 0);
  assert.deepEqual(await notes(), [["mine"]]);
  await run({ d1, overwrite: true });
  assert.deepEqual(await notes(), [["from wrangler"]]);
});

test("a directory without wrangler state is rejected", async (t) => {
  const { run } = await setUp(t);
  await assert.rejects(run(), { kind: "wranglerStateMissing" });
});
