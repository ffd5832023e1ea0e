import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { onEveryDatabase, onPostgres, type TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type Clock } from "../../kernel/index.ts";
import type { Db } from "../db/port.ts";
import { sweepsMigrations } from "./sweeps-table.ts";
import { createSharedSweeps, localSweeps } from "./sweeps.ts";

const MINUTE = 60_000;
const LEASE = 30_000;

async function openProcesses(engine: TestEngine, t: TestContext) {
  const { db, another } = await engine.open(t, sweepsMigrations);
  const clock = createManualClock(MINUTE);
  const processOf = (db: Db, at: Clock = clock) =>
    createSharedSweeps({ db, clock: at, ids: randomIds, log: silentLog, leaseMs: LEASE });
  return { clock, processOf, db, another, processes: [processOf(db), processOf(await another())] as const };
}

async function until(check: () => boolean | Promise<boolean>) {
  while (!(await check())) await sleep(5);
}

test("a process with a database of its own runs every sweep", async () => {
  let runs = 0;
  for (let n = 0; n < 3; n++) assert.equal(await localSweeps.run("a", MINUTE, async () => ++runs), runs);
  assert.equal(runs, 3);
});

onEveryDatabase((engine) => {
  test("only one of several processes runs a sweep in each interval, and the others read its result", async (t) => {
    const { clock, processes } = await openProcesses(engine, t);
    let runs = 0;
    const sweepInAll = () => Promise.all(processes.map((one) => one.run("a", MINUTE, async () => ++runs)));
    await sweepInAll();
    assert.equal(runs, 1);
    assert.deepEqual(await sweepInAll(), [1, 1]);
    clock.advance(MINUTE);
    await sweepInAll();
    assert.equal(runs, 2);
    assert.deepEqual(await sweepInAll(), [2, 2]);
    await processes[0].run("another name", MINUTE, async () => void runs++);
    assert.equal(runs, 3);
  });

  test("no other process repeats a run that takes longer than its lease", async (t) => {
    const { clock, processes, db } = await openProcesses(engine, t);
    const [first, second] = processes;
    const end = Promise.withResolvers<number>();
    const started = Promise.withResolvers<void>();
    const running = first.run("a", MINUTE, () => (started.resolve(), end.promise));
    await started.promise;
    for (let step = 0; step < 10; step++) {
      const before = await untilOf(db);
      await setImmediate();
      clock.advance(LEASE / 3);
      // The process may begin to wait for its next renewal only after the clock was advanced.
      await until(async () => {
        if ((await untilOf(db)) > before) return true;
        clock.advance(10);
        return false;
      });
      assert.equal(await second.run("a", MINUTE, () => assert.fail("ran twice")), undefined);
    }
    end.resolve(7);
    assert.equal(await running, 7);
  });

  test("another process runs the sweep of a dead process when its lease has expired", async (t) => {
    const { clock, processOf, another, processes } = await openProcesses(engine, t);
    // Its clock does not advance, so like a dead process it does not renew its lease.
    const dead = processOf(await another(), createManualClock(clock.now()));
    const started = Promise.withResolvers<void>();
    void dead.run("a", MINUTE, () => (started.resolve(), new Promise<number>(() => {})));
    await started.promise;
    let runs = 0;
    clock.advance(LEASE - 1);
    await processes[0].run("a", MINUTE, async () => ++runs);
    assert.equal(runs, 0);
    clock.advance(1);
    await processes[0].run("a", MINUTE, async () => ++runs);
    assert.equal(runs, 1);
  });

  test("the next process that is due retries a failed run", async (t) => {
    const { processes } = await openProcesses(engine, t);
    await assert.rejects(
      processes[0].run("a", MINUTE, () => Promise.reject(new Error("full disk"))),
      /full disk/,
    );
    assert.equal(await processes[1].run("a", MINUTE, async () => 5), 5);
  });
});

async function untilOf(db: Db) {
  const row = await db
    .tables<{ sweeps: { until: number } }>()
    .selectFrom("sweeps")
    .select("until")
    .executeTakeFirstOrThrow();
  return row.until;
}

onPostgres((engine) => {
  for (const moment of ["during a run", "between two runs"])
    test(`another process takes over from a process that is killed ${moment}`, async (t) => {
      const { where } = await engine.open(t, sweepsMigrations);
      assert.ok("url" in where);
      const start = (mode: string) => {
        const child = spawn(
          process.execPath,
          [join(import.meta.dirname, "sweeping-process.testing.ts"), where.url, mode],
          { stdio: ["ignore", "pipe", "inherit"] },
        );
        t.after(() => child.kill("SIGKILL"));
        return { child, runs: createInterface({ input: child.stdout! })[Symbol.asyncIterator]() };
      };
      const first = start(moment === "during a run" ? "hang" : "end");
      await first.runs.next();
      const second = start("end");
      if (moment === "between two runs") await first.runs.next();
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      for (let n = 0; n < 3; n++) assert.deepEqual(await second.runs.next(), { value: "ran", done: false });
    });
});
