import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sql } from "kysely";
import { silentLog, UserError } from "../kernel/index.ts";
import { migrate, openSqlite } from "../store/index.ts";
import { readServerSettingsOf } from "./backup.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { migrateServer } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import { startServe } from "./serve.ts";

const FREE = { port: 0 };

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-migrate-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const serve = (dataDir: string, migrates: boolean) =>
  startServe({
    cwd: dataDir,
    env: {},
    version: "0.0.0",
    log: silentLog,
    overrides: {
      data_dir: dataDir,
      database: { migrate: migrates },
      http: FREE,
      smtp: FREE,
      submission: FREE,
      dns: FREE,
      dashboard: FREE,
      live: { rtmp_port: 0, srt_port: 0 },
    },
  });

test("lists and applies pending migrations, without which a server with database.migrate off does not start", async (t) => {
  const dataDir = temporary(t);
  const settings = await readServerSettingsOf({ cwd: dataDir, env: {}, overrides: { data_dir: dataDir } });
  const names = migrations.map(({ name }) => name);
  assert.deepEqual(await migrateServer(settings, { dryRun: true }), { applied: [], pending: names, newer: [] });
  const hasPending = (err: unknown) => err instanceof UserError && err.kind === "databaseOlder";
  await assert.rejects(serve(dataDir, false), hasPending);
  assert.deepEqual((await migrateServer(settings, { dryRun: false })).pending, names);
  assert.deepEqual(await migrateServer(settings, { dryRun: false }), { applied: names, pending: [], newer: [] });
  const server = await serve(dataDir, false);
  await server.close();
});

test("does not change the SQLite database of a running server", async (t) => {
  const dataDir = temporary(t);
  const settings = await readServerSettingsOf({ cwd: dataDir, env: {}, overrides: { data_dir: dataDir } });
  const lock = lockDataDirectory(dataDir);
  t.after(() => lock.release());
  await assert.rejects(
    migrateServer(settings, { dryRun: false }),
    (err) => err instanceof UserError && err.kind === "dataDirectoryBusy",
  );
});

test("the previous version runs on the schema of the next version, but not on one that lacks what it uses", async (t) => {
  const dataDir = temporary(t);
  const db = openSqlite({ path: join(dataDir, "reelpost.sqlite") });
  t.after(() => db.close());
  const next = [
    ...migrations,
    {
      name: "zones-999-note",
      up: async (tx: Parameters<(typeof migrations)[number]["up"]>[0]) =>
        void (await sql`alter table zones add column note text`.execute(tx)),
    },
  ];
  await migrate(db, next);
  const server = await serve(dataDir, true);
  const created = await fetch(`${server.api!}/zones`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token!}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "example.com", account: { id: server.account!.id } }),
  });
  assert.equal(created.status, 200, await created.text());
  await server.close();
  await migrate(db, [...next, { name: "zones-999-removal", olderVersions: "none", up: async () => {} }]);
  await assert.rejects(
    serve(dataDir, true),
    (err) => err instanceof UserError && err.kind === "databaseNewer" && err.message.includes("zones-999-removal"),
  );
});
