import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onEveryDatabase } from "../../test/support/databases.ts";
import { createCorrectedClock } from "../kernel/corrected-clock.ts";
import { randomIds, silentLog, systemClock, type Clock } from "../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, type Db } from "../store/index.ts";
import { followDatabaseTime } from "./database-time.ts";

const shifted = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });

const LEASE_MS = 4000;

onEveryDatabase((engine) => {
  test("accepts a machine whose clock differs by less than a second", async (t) => {
    const { db } = await engine.open(t);
    const local = shifted(-600);
    const clock = createCorrectedClock(local);
    const time = await followDatabaseTime({ db, clock, local, log: silentLog });
    await time.close();
    const { differenceMs, roundTripMs, agrees } = time.state();
    assert.ok(agrees);
    // Here the database uses the clock of this machine.
    assert.ok(Math.abs(differenceMs + 600) <= roundTripMs / 2 + 2, `${differenceMs} ms, round trip ${roundTripMs} ms`);
    const [before, corrected, after] = [systemClock.now(), clock.now(), systemClock.now()];
    const maxError = roundTripMs / 2 + 2;
    assert.ok(before - maxError <= corrected && corrected <= after + maxError);
  });

  test("rejects a machine whose clock differs by more than a second", async (t) => {
    const { db } = await engine.open(t);
    for (const [ms, words] of [
      [10_000, /^The clock of this machine is (9\.\d|10\.\d) s ahead of the clock of the database\./],
      [-10_000, /^The clock of this machine is (9\.\d|10\.\d) s behind the clock of the database\./],
    ] as const) {
      const local = shifted(ms);
      await assert.rejects(
        followDatabaseTime({ db, clock: createCorrectedClock(local), local, log: silentLog }),
        (err: Error & { kind?: string }) => err.kind === "clockSkew" && words.test(err.message),
      );
    }
  });

  test("a clock difference that develops after startup is logged once, and does not affect the corrected clock", async (t) => {
    const { db } = await engine.open(t);
    let shift = 0;
    const local = { ...systemClock, now: () => systemClock.now() + shift };
    const clock = createCorrectedClock(local);
    const lines: string[] = [];
    const note = (_: unknown, line?: string) => void lines.push(String(line ?? _));
    const log = { ...silentLog, error: note, info: note } as typeof silentLog;
    const time = await followDatabaseTime({ db, clock, local, log });
    t.after(() => time.close());
    shift = 10_000;
    await time.measure();
    await time.measure();
    assert.equal(time.state().agrees, false);
    assert.ok(Math.abs(clock.now() - systemClock.now()) < 1000);
    shift = 0;
    await time.measure();
    assert.deepEqual(
      lines.map((line) => line.slice(0, 40)),
      ["cluster: the clock of this machine differs", "cluster: the clock of this machine is synchronized"].map((line) =>
        line.slice(0, 40),
      ),
    );
  });

  test("ignores a measurement with a long round trip", async (t) => {
    const { db } = await engine.open(t);
    let monotonic = 1000;
    let delay = 0;
    const clock = createCorrectedClock(systemClock, () => monotonic);
    const read = async () => ((monotonic += delay), 5_000_000);
    const time = await followDatabaseTime({
      db,
      clock,
      local: { now: () => 5_000_000 },
      log: silentLog,
      monotonic: () => monotonic,
      read,
    });
    t.after(() => time.close());
    const before = clock.now();
    delay = 3000;
    await time.measure();
    // Four attempts of three seconds each.
    assert.equal(clock.now() - before, 12_000);
  });

  test("a process whose clock jumps ahead by 10 s neither steals a job's lease nor loses its own", async (t) => {
    const stops: (() => Promise<void>)[] = [];
    t.after(async () => void (await Promise.all(stops.map((stop) => stop()))));
    const { db, another } = await engine.open(t, jobsMigrations);

    /** Runs jobs of a kind until the test ends, on a clock that can jump. */
    async function startProcess(ownDb: Db) {
      let shift = 0;
      const local = { ...systemClock, now: () => systemClock.now() + shift };
      const clock = createCorrectedClock(local);
      const time = await followDatabaseTime({ db: ownDb, clock, local, log: silentLog });
      stops.push(() => time.close());
      const events = createLocalEvents({ log: silentLog });
      const jobs = createJobs({ db: ownDb, clock, ids: randomIds, events, log: silentLog });
      const runs: { lost: boolean; finish(): void }[] = [];
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      const work = (kind: string) => {
        const worker = jobs.work(kind, { concurrency: 1, leaseMs: LEASE_MS, pollMs: 10 }, (_, { signal }) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          const run = { lost: false, finish: resolve };
          signal.addEventListener("abort", () => ((run.lost = true), resolve()));
          runs.push(run);
          start();
          return promise;
        });
        stops.push(() => worker.stop({ graceMs: 0 }));
      };
      return { jobs, runs, work, started, jump: () => (shift = 10_000), time };
    }

    const [one, two] = [await startProcess(db), await startProcess(await another())];
    const id = await one.jobs.enqueue("encode", {});
    one.work("encode");
    await one.started;
    two.jump();
    await two.time.measure();
    two.work("encode");
    two.work("probe");
    // The second process polls both kinds in turn: when it has run this job, it has looked for expired leases.
    await two.jobs.enqueue("probe", {});
    await two.started;
    one.jump();
    await one.time.measure();
    const leaseEnd = async () =>
      (
        await db
          .tables<{ jobs: { id: string; lease_until: number } }>()
          .selectFrom("jobs")
          .select("lease_until")
          .where("id", "=", id)
          .executeTakeFirstOrThrow()
      ).lease_until;
    const firstEnd = await leaseEnd();
    while ((await leaseEnd()) < firstEnd + LEASE_MS) await sleep(10);
    assert.equal(two.runs.length, 1, "the second process ran only its own job");
    assert.equal(one.runs.length, 1);
    assert.equal(one.runs[0]!.lost, false);
    one.runs[0]!.finish();
    for (;;) {
      const state = await one.jobs.get(id);
      if (state!.status === "done") break;
      await sleep(5);
    }
  });
});
