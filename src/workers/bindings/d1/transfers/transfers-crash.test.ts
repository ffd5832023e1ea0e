import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { randomIds, silentLog, systemClock } from "../../../../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
} from "../../../../store/index.ts";
import { createD1Databases } from "../databases.ts";
import type { D1Databases } from "../port.ts";
import { createD1DatabaseList } from "../list.ts";
import { d1Migrations } from "../migrations.ts";
import { createD1Transfers } from "./transfers.ts";

const ACCOUNT = "a".repeat(32);
const ROWS = 400_000;
const SQL = `insert into t values (1);\nwith recursive c(x) as (select 1 union all select x + 1 from c limit ${ROWS}) insert into t select 'some text of row ' || x from c;\ninsert into t values (2);`;
const ETAG = createHash("md5").update(SQL).digest("hex");

async function open(folder: string, { wrap = (databases: D1Databases) => databases, leaseMs = 60_000 } = {}) {
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...d1Migrations]);
  const events = createLocalEvents({ log: silentLog });
  const databases = wrap(createD1Databases({ directory: join(folder, "d1") }));
  const list = createD1DatabaseList({ db, databases });
  const jobs = createJobs({ db, clock: systemClock, ids: randomIds, events, log: silentLog });
  const transfers = createD1Transfers({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    jobs,
    events,
    list,
    databases,
    leaseMs,
  });
  const close = async () => {
    await transfers.close();
    await databases.close();
    await events.close();
    await db.close();
  };
  return { transfers, list, databases, close };
}

/**
 * Starts the import, prints the values needed to follow it, and exits: "during" the import, or "after" the commit but
 * before the import is reported.
 */
async function importAndDie(folder: string, id: string, when: string): Promise<never> {
  const said = Promise.withResolvers<void>();
  const wrap = (databases: D1Databases): D1Databases => ({
    ...databases,
    async import(database, sql, options) {
      async function* half() {
        yield Buffer.from(SQL.slice(0, SQL.length - 10));
        await said.promise;
        process.kill(process.pid, "SIGKILL");
      }
      const open = when === "during" ? () => Readable.from(half(), { objectMode: false }) : sql.open;
      const done = await databases.import(database, { ...sql, open }, options);
      await said.promise;
      if (when === "after") process.kill(process.pid, "SIGKILL");
      return done;
    },
  });
  // The next process continues when this lease has expired.
  const { transfers } = await open(folder, { wrap, leaseMs: 1_000 });
  const { token, filename } = await transfers.announce(ACCOUNT, id, ETAG);
  await transfers.upload(token, Readable.from([Buffer.from(SQL)], { objectMode: false }));
  const { bookmark } = await transfers.import(ACCOUNT, id, { etag: ETAG, filename });
  process.stdout.write(bookmark, () => said.resolve());
  return new Promise(() => {});
}

// The same file is the child process that is killed.
if (process.argv[2] === "import") await importAndDie(process.argv[3]!, process.argv[4]!, process.argv[5]!);
else {
  for (const when of ["during", "after"]) {
    test(`an import resumes, and applies its data once, if its process is killed ${when} applying it`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "d1-transfers-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const before = await open(folder);
      const { id } = await before.list.create(ACCOUNT, { name: "shop" });
      await before.databases.query(id, [{ sql: "create table t(a)" }]);
      await before.close();

      const child = spawn(process.execPath, [import.meta.filename, "import", folder, id, when], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      t.after(() => void child.kill("SIGKILL"));
      let bookmark = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (bookmark += text));
      const [, signal] = (await once(child, "close")) as [number | null, string | null];
      assert.equal(signal, "SIGKILL");

      const { transfers, databases, close } = await open(folder);
      t.after(close);
      let transfer = await transfers.follow("import", ACCOUNT, id, bookmark);
      while (transfer.status === "active") transfer = await transfers.follow("import", ACCOUNT, id, bookmark);
      assert.ok(transfer.status === "complete", JSON.stringify(transfer));
      assert.equal(transfer.imported!.statements, 3);
      assert.equal(transfer.imported!.rowsWritten, when === "during" ? ROWS + 2 : 0);
      assert.deepEqual(
        (await databases.query(id, [{ sql: "select count(*), count(distinct a) from t" }]))[0]!.results.rows,
        [[ROWS + 2, ROWS + 2]],
      );
    });
  }
}
