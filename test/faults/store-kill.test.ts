import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  type Db,
  jobsMigrations,
  type ObjectStore,
  openFsObjects,
} from "../../src/store/index.ts";
import { onEveryDatabase } from "../support/databases.ts";
import { bytesOf, killMigration, type KillTables, runEffect, type DatabaseLocation } from "./store-kill.shared.ts";

const ROUNDS = 8;
const PROCESSES = 2;
const KINDS = ["single", "pair", "object", "job"];

onEveryDatabase((engine) => {
  test(`kill -9, ${ROUNDS * PROCESSES} times under load, loses no acknowledged write, and each job takes effect exactly once`, async (t) => {
    const { another, where } = await engine.open(t, [...jobsMigrations, killMigration]);
    const folder = mkdtempSync(join(tmpdir(), "reelpost-kill-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const acknowledged: string[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const runs = Array.from({ length: PROCESSES }, (_, n) => `r${round}p${n}`);
      acknowledged.push(...(await Promise.all(runs.map((run) => writeUntilKilled({ where, folder, run })))).flat());
    }
    const db = await another();
    const objects = await openFsObjects({ folder });
    const all = (kind: string) => acknowledged.filter(([first]) => first === kind).map(([, name]) => name!);
    await checkRows(db, { singles: all("single"), pairs: all("pair") });
    await checkObjects(objects, folder, acknowledged);
    await checkJobs(db, all("job"));
    t.diagnostic(`${acknowledged.length} acknowledged writes survived`);
  });
});

/**
 * Resolves with the acknowledged lines of one process, killed at a random point after a few hundred of them, with at
 * least one of each kind.
 */
async function writeUntilKilled(order: { where: DatabaseLocation; folder: string; run: string }): Promise<string[][]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "store-kill.child.ts"), JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const complaint = text(child.stderr);
  const exited = once(child, "exit");
  const lines: string[][] = [];
  const kinds = new Set<string>();
  const enough = 20 + Math.random() * 200;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line.split(" "));
    kinds.add(lines.at(-1)![0]!);
    if (lines.length > enough && kinds.size === KINDS.length) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  assert.equal(signal, "SIGKILL", `the child exited on its own: ${await complaint}`);
  assert.deepEqual([...kinds].sort(), KINDS.toSorted());
  return lines;
}

async function checkRows(db: Db, wanted: { singles: string[]; pairs: string[] }) {
  const names = async (table: "singles" | "lefts" | "rights") =>
    new Set((await db.tables<KillTables>().selectFrom(table).select("name").execute()).map(({ name }) => name));
  const [singles, lefts, rights] = await Promise.all([names("singles"), names("lefts"), names("rights")]);
  assert.deepEqual(
    wanted.singles.filter((name) => !singles.has(name)),
    [],
  );
  assert.deepEqual(
    wanted.pairs.filter((name) => !lefts.has(name) || !rights.has(name)),
    [],
  );
  // Unacknowledged pairs must also have both rows or neither.
  assert.deepEqual(
    [...lefts].filter((name) => !rights.has(name)),
    [],
  );
  assert.equal(lefts.size, rights.size);
  if (db.dialect === "sqlite")
    assert.deepEqual((await sql`pragma integrity_check`.execute(db.tables())).rows, [{ integrity_check: "ok" }]);
}

async function checkObjects(objects: ObjectStore, folder: string, acknowledged: string[][]) {
  const found = new Set<string>();
  for await (const { key } of objects.list("kill/")) {
    found.add(key);
    // An object must be complete even if it was never acknowledged.
    const name = key.slice(key.lastIndexOf("/") + 1);
    assert.equal(Buffer.compare(await (await objects.open(key))!.bytes(), bytesOf(name)), 0, key);
  }
  assert.deepEqual(
    acknowledged.filter(([kind, key]) => kind === "object" && !found.has(key!)),
    [],
  );
  assert.deepEqual(readdirSync(join(folder, ".tmp")), []);
}

async function checkJobs(db: Db, enqueued: string[]) {
  const jobs = createJobs({
    db,
    clock: systemClock,
    ids: randomIds,
    events: createLocalEvents({ log: silentLog }),
    log: silentLog,
  });
  const worker = jobs.work("effect", { concurrency: 8, leaseMs: 1000, pollMs: 50 }, (job) => runEffect(db, job));
  const open = db
    .tables<{ jobs: { id: string; status: string } }>()
    .selectFrom("jobs")
    .select("id")
    .where("status", "in", ["waiting", "running"])
    .limit(1);
  const unfinished = async () => (await open.execute()).length;
  for (const deadline = Date.now() + 90_000; (await unfinished()) > 0; await sleep(20))
    assert.ok(Date.now() < deadline, "unfinished jobs remain");
  await worker.stop();
  const effects = await db.tables<KillTables>().selectFrom("effects").selectAll().execute();
  const byJob = new Map(effects.map(({ job, attempt }) => [job, attempt]));
  assert.equal(byJob.size, effects.length);
  for (const id of enqueued) {
    assert.ok(byJob.has(id), `job ${id} was acknowledged but had no effect`);
    assert.equal((await jobs.get(id))?.status, "done");
  }
}
