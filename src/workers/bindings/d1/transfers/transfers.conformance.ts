import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../../test/support/databases.ts";
import {
  createManualClock,
  randomIds,
  silentLog,
  systemClock,
  type Clock,
  type UserError,
} from "../../../../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  type Db,
  type Events,
  type Jobs,
  type ObjectStore,
} from "../../../../store/index.ts";
import { openWriteOnceObjects } from "../../../../store/objects/write-once.testing.ts";
import { createD1Databases } from "../databases.ts";
import type { D1Databases } from "../port.ts";
import { createD1DatabaseList, type D1DatabaseList } from "../list.ts";
import { d1DirectoryId } from "../home.ts";
import { d1Migrations } from "../migrations.ts";
import { createD1Transfers, type D1Transfers, type Transfer } from "./transfers.ts";
import type { TransferTables } from "./transfers-table.ts";

const ACCOUNT = "a".repeat(32);
const md5 = (text: string) => createHash("md5").update(text).digest("hex");
const bytes = (text: string) => Readable.from([Buffer.from(text)], { objectMode: false });
const refused = (kind: string) => (error: UserError) => (assert.equal(error.kind, kind), true);
const WHOLE = { noSchema: false, noData: false, tables: [] };

/** Behavior of transfers on every database engine. */
export function transfersConformance(engine: TestEngine): void {
  describe("D1 transfers", () => {
    let db: Db;
    let objects: ObjectStore;
    let jobs: Jobs;
    let events: Events;
    let clock: Clock & { advance(ms: number): void };
    let databases: D1Databases;
    let list: D1DatabaseList;
    /** The process that owns the database files. */
    let owner: D1Transfers;
    /** A process that does not own them. */
    let front: D1Transfers;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), "d1-transfers-"));
      ends.push(async () => rmSync(folder, { recursive: true, force: true }));
      ({ db } = await engine.open({ after: (end) => ends.push(end) }, [...jobsMigrations, ...d1Migrations]));
      objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
      events = createLocalEvents({ log: silentLog });
      jobs = createJobs({ db, clock: systemClock, ids: randomIds, events, log: silentLog });
      clock = createManualClock(Date.now());
      databases = createD1Databases({ directory: join(folder, "d1"), processes: 1 });
      list = createD1DatabaseList({ db, databases, clock });
      const parts = { db, objects, jobs, events, list, clock };
      owner = createD1Transfers({ ...parts, databases });
      front = createD1Transfers(parts);
      ends.push(
        () => events.close(),
        () => databases.close(),
        () => owner.close(),
        () => front.close(),
      );
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    let made = 0;
    const database = async () => (await list.create(ACCOUNT, { name: `db${++made}` })).id;
    const rowsOf = async (id: string) => (await databases.query(id, [{ sql: "select a from t" }]))[0]!.results.rows;
    const send = async (id: string, sql: string) => {
      const { filename, token } = await front.announce(ACCOUNT, id, md5(sql));
      assert.deepEqual(await front.upload(token, bytes(sql)), { etag: md5(sql) });
      return { filename, etag: md5(sql), token };
    };
    const end = async (id: string, transfer: Transfer) => {
      let now = transfer;
      while (now.status === "active") now = await front.follow(now.kind, ACCOUNT, id, now.bookmark);
      return now;
    };
    const kept = async (kind: string) => {
      const keys: string[] = [];
      for await (const { key } of objects.list("d1-transfers/")) keys.push(key);
      return {
        objects: keys.length,
        rows: (
          await db.tables<TransferTables>().selectFrom("d1_transfers").select("id").where("kind", "=", kind).execute()
        ).length,
      };
    };

    test("are started in one process and run in the process that owns the files", async () => {
      const id = await database();
      const imported = await end(
        id,
        await front.import(ACCOUNT, id, await send(id, "create table t(a); insert into t values (1);")),
      );
      assert.ok(imported.status === "complete" && imported.imported!.statements === 2, JSON.stringify(imported));
      const exported = await end(id, await front.export(ACCOUNT, id, WHOLE));
      assert.ok(exported.status === "complete");
      const { filename, file } = (await front.download(exported.token))!;
      assert.equal(filename, exported.filename);
      assert.equal(
        (await file.bytes()).toString(),
        'PRAGMA defer_foreign_keys=TRUE;\nCREATE TABLE t(a);\nINSERT INTO "t" ("a") VALUES(1);\n',
      );
    });

    test("two concurrent starts with the same file run one import", async () => {
      const id = await database();
      const file = await send(id, "create table if not exists t(a); insert into t values (1);");
      const begun = await Promise.all([front.import(ACCOUNT, id, file), owner.import(ACCOUNT, id, file)]);
      assert.equal(begun[0].bookmark, begun[1].bookmark);
      await end(id, begun[0]);
      assert.deepEqual(await rowsOf(id), [[1]]);
      await assert.rejects(front.import(ACCOUNT, id, file), refused("notUploaded"));
      assert.equal(await front.upload(file.token, bytes("anything")), undefined);
    });

    test("belong to one account and one database", async () => {
      const id = await database();
      const other = await database();
      const file = await send(id, "create table t(a)");
      await assert.rejects(front.import("f".repeat(32), id, file), refused("notUploaded"));
      await assert.rejects(front.import(ACCOUNT, other, file), refused("notUploaded"));
      const transfer = await front.import(ACCOUNT, id, file);
      for (const [kind, account, database] of [
        ["export", ACCOUNT, id],
        ["import", "f".repeat(32), id],
        ["import", ACCOUNT, other],
      ] as const)
        await assert.rejects(front.follow(kind, account, database, transfer.bookmark), refused("transferMissing"));
      await end(id, transfer);
    });

    test("a wrong file does not replace the right one", async () => {
      const id = await database();
      const file = await send(id, "create table t(a); insert into t values ('right');");
      await assert.rejects(front.upload(file.token, bytes("drop table t")), refused("otherContent"));
      await end(id, await front.import(ACCOUNT, id, file));
      assert.deepEqual(await rowsOf(id), [["right"]]);
    });

    test("get a new job if their process died before creating one, and are reported as failed if their job failed", async () => {
      const id = await database();
      await databases.query(id, [{ sql: "create table t(a)" }]);
      const now = clock.now();
      const row = (more: object) => ({
        id: randomIds.hex(),
        account_id: ACCOUNT,
        database_id: id,
        kind: "export",
        status: "active",
        token: randomIds.token(),
        filename: "x.sql",
        etag: null,
        object_key: null,
        size: null,
        options: JSON.stringify(WHOLE),
        result: null,
        error: null,
        job_id: null,
        created_at: now,
        expires_at: now + 1e9,
        ...more,
      });
      const insert = (values: ReturnType<typeof row>) =>
        db.tables<TransferTables>().insertInto("d1_transfers").values(values).execute();
      const orphan = row({});
      await insert(orphan);
      assert.equal((await end(id, await front.export(ACCOUNT, id, WHOLE))).status, "complete");
      const lost = row({ job_id: "0".repeat(32) });
      await insert(lost);
      const reported = await front.export(ACCOUNT, id, WHOLE);
      assert.deepEqual([reported.status, reported.bookmark.endsWith(lost.id)], ["error", true]);
    });

    test("a transfer runs only in the process that started it, even after a restart", async () => {
      const folders = ["a", "b"].map(() => mkdtempSync(join(tmpdir(), "d1-home-")));
      const homes = folders.map((folder) => d1DirectoryId(folder, randomIds));
      assert.deepEqual(
        folders.map((folder) => d1DirectoryId(folder, randomIds)),
        homes,
      );
      // The processes above do not interfere: their jobs have a different kind.
      const processes = folders.map((directory) => createD1Databases({ directory, processes: 1 }));
      const start = (n: number) =>
        createD1Transfers({ db, objects, jobs, events, list, clock, databases: processes[n]!, home: homes[n]! });
      const other = start(1);
      const id = await database();
      const file = await send(id, "create table t(a); insert into t values (1);");
      const mine = start(0);
      const imported = await end(id, await mine.import(ACCOUNT, id, file));
      assert.equal(imported.status, "complete");
      assert.deepEqual([(await processes[0]!.size(id)) > 0, await processes[1]!.size(id)], [true, 0]);
      await mine.close();
      // The process dies after starting a transfer; the other process does not run it.
      const begun = createD1Transfers({ db, objects, jobs, events, list, clock, home: homes[0]! });
      const exporting = await begun.export(ACCOUNT, id, WHOLE);
      await begun.close();
      const again = start(0);
      const exported = await end(id, exporting);
      assert.ok(exported.status === "complete");
      assert.match((await (await again.download(exported.token))!.file.bytes()).toString(), /INSERT INTO "t"/);
      await Promise.all([again.close(), other.close(), ...processes.map((one) => one.close())]);
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    });

    test("the sweep of a process without database files removes nothing", async () => {
      const id = await database();
      await send(id, "select 'stays'");
      clock.advance(3 * 3_600_000);
      const { rows } = await kept("import");
      await front.sweep();
      assert.equal((await kept("import")).rows, rows);
      await owner.sweep();
      assert.equal((await kept("import")).rows, 0);
    });

    test("have their files deleted after an hour if they were not downloaded", async () => {
      const id = await database();
      await send(id, "select 1");
      const { token } = await front.announce(ACCOUNT, id, md5("never sent"));
      const exported = await end(id, await front.export(ACCOUNT, id, WHOLE));
      assert.ok(exported.status === "complete");
      clock.advance(50 * 60_000);
      await owner.sweep();
      assert.ok(await front.download(exported.token));
      clock.advance(20 * 60_000);
      assert.equal(await front.download(exported.token), undefined);
      assert.equal(await front.upload(token, bytes("never sent")), undefined);
      await owner.sweep();
      assert.deepEqual(
        [await kept("export"), await kept("import")],
        [
          { objects: 0, rows: 0 },
          { objects: 0, rows: 0 },
        ],
      );
    });
  });
}
