import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { Db } from "../db/port.ts";
import { rateCountsMigrations } from "./counts-table.ts";
import { createSharedLimits } from "./shared-limits.ts";

const MINUTE = 60_000;

async function openProcesses(engine: TestEngine, t: TestContext, count = 3) {
  const { db, another } = await engine.open(t, rateCountsMigrations);
  const clock = createManualClock(MINUTE);
  const limitsOf = (of: Db) => createSharedLimits({ db: of, clock, log: silentLog, processes: () => count });
  const processes = [limitsOf(db)];
  while (processes.length < count) processes.push(limitsOf(await another()));
  return { db, clock, processes };
}

onEveryDatabase((engine) => {
  for (const limit of [1, 7, 100, 1200])
    test(`three processes together admit at most ${limit} events, and at least nine tenths of that`, async (t) => {
      const { clock, processes } = await openProcesses(engine, t);
      const quotas = processes.map((one) => one.quota("test", { limit, perMs: MINUTE }));
      for (let period = 0; period < 2; period++) {
        const admitted = [0, 0, 0];
        // Two processes run concurrently, then the third alone.
        await Promise.all(
          Array.from({ length: limit * 2 }, async (_, n) => {
            if ((await quotas[n % 2]!.consume("a")) === 0) admitted[n % 2]!++;
          }),
        );
        while ((await quotas[2]!.consume("a")) === 0) admitted[2]!++;
        const total = admitted[0]! + admitted[1]! + admitted[2]!;
        assert.ok(total <= limit && total >= limit * 0.9, `${admitted.join(" + ")} of ${limit}`);
        for (const quota of quotas) assert.equal(await quota.consume("a"), 60);
        clock.advance(MINUTE);
      }
    });

  test("a process that counts all requests of a key admits at least 90% of the limit", async (t) => {
    const { processes } = await openProcesses(engine, t);
    const quota = processes[0]!.quota("test", { limit: 1000, perMs: MINUTE });
    for (const other of processes.slice(1)) await other.quota("test", { limit: 1000, perMs: MINUTE }).consume("a");
    let admitted = 2;
    while ((await quota.consume("a")) === 0) admitted++;
    assert.ok(admitted >= 900 && admitted <= 1000, String(admitted));
    assert.equal(await quota.consume("another key"), 0);
    assert.equal(await processes[0]!.quota("another name", { limit: 1000, perMs: MINUTE }).consume("a"), 0);
  });

  test("a rejected key causes no database query until its period ends", async (t) => {
    const { db, clock } = await openProcesses(engine, t, 1);
    let writes = 0;
    const counting: Db = { ...db, write: (query) => (writes++, db.write(query)) };
    const quota = createSharedLimits({ db: counting, clock, log: silentLog, processes: () => 1 }).quota("test", {
      limit: 400,
      perMs: MINUTE,
    });
    for (let n = 0; n < 1000; n++) await quota.consume("a");
    assert.equal(writes, 41);
  });

  test("failures in any process block a network in all of them, until the period ends", async (t) => {
    const { clock, processes } = await openProcesses(engine, t);
    const windows = processes.map((one) => one.failures("test", { failures: 4, seconds: 60 }));
    for (let n = 0; n < 4; n++) {
      for (const one of windows) assert.equal(await one.secondsLeft("192.0.2.1"), undefined);
      await windows[n % 3]!.failed("192.0.2.1");
      clock.advance(1000);
    }
    for (const one of windows) {
      assert.equal(await one.secondsLeft("192.0.2.1"), 56);
      assert.equal(await one.secondsLeft("192.0.2.1", () => true), undefined);
      assert.equal(await one.secondsLeft("192.0.2.2"), undefined);
    }
    clock.advance(56_000);
    for (const one of windows) assert.equal(await one.secondsLeft("192.0.2.1"), undefined);
  });

  test("without the database, each process applies the limits on its own", async (t) => {
    const { db, clock } = await openProcesses(engine, t, 1);
    const failing: Db = {
      ...db,
      write: () => Promise.reject(new Error("the server does not respond")),
      read: () => Promise.reject(new Error("the server does not respond")),
    };
    const limits = createSharedLimits({ db: failing, clock, log: silentLog, processes: () => 1 });
    const quota = limits.quota("test", { limit: 2, perMs: MINUTE });
    assert.deepEqual([await quota.consume("a"), await quota.consume("a"), await quota.consume("a")], [0, 0, 60]);
    const windows = limits.failures("test", { failures: 1, seconds: 60 });
    assert.equal(await windows.secondsLeft("192.0.2.1"), undefined);
    await windows.failed("192.0.2.1");
    assert.equal(await windows.secondsLeft("192.0.2.1"), 60);
  });

  test("a sweep deletes the counts of periods that have ended", async (t) => {
    const { db, clock, processes } = await openProcesses(engine, t, 1);
    const [limits] = processes;
    await limits!.quota("test", { limit: 5, perMs: MINUTE }).consume("a");
    const rows = () => db.tables<{ rate_counts: { key: string } }>().selectFrom("rate_counts").select("key").execute();
    await limits!.sweep();
    assert.equal((await rows()).length, 1);
    clock.advance(MINUTE);
    await limits!.sweep();
    assert.equal((await rows()).length, 0);
  });
});
