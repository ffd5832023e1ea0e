import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock } from "../../kernel/index.ts";
import { isStoreError } from "../errors.ts";
import { createJobsTable, reclaimJobs } from "./jobs-table.ts";
import { advanceUntil, controlled, NOON, openJobsDatabase, statusOf, until, workOptions } from "./jobs.testing.ts";

/** Tests leases of running jobs on every engine: renewal, expiry, takeover by another process. */
export function jobLeasesConformance(engine: TestEngine): void {
  describe("a lease", () => {
    test("that is renewed keeps a long job with its worker", async (t) => {
      const { create, leaseOf } = await openJobsDatabase(engine, t);
      const clock = createManualClock(NOON);
      const [mine, theirs] = [await create(clock), await create(clock)];
      const [own, other] = [controlled(), controlled()];
      const id = await mine.enqueue("a", 1);
      mine.work("a", workOptions({ leaseMs: 9000 }), own.run);
      const job = await own.nth(1);
      theirs.work("a", workOptions({ leaseMs: 9000, pollMs: 500 }), other.run);
      for (let step = 0; step < 10; step++) {
        const before = (await leaseOf(id))!;
        clock.advance(3000);
        // The process may begin to wait for its next renewal only after the clock was advanced. A second more is
        // enough; without a limit, a slow database would let the lease expire.
        const latest = clock.now() + 1000;
        await until(async () => (await leaseOf(id))! > before || (clock.now() < latest && clock.advance(10), false));
      }
      assert.deepEqual([other.started.length, job.context.signal.aborted], [0, false]);
      job.succeed();
      await until(async () => (await statusOf(mine, id)) === "done");
      assert.equal((await mine.get(id))!.attempt, 1);
    });

    test("expires and passes the job to another process, and later results of the first are ignored", async (t) => {
      const { create } = await openJobsDatabase(engine, t);
      const [slowClock, clock] = [createManualClock(NOON), createManualClock(NOON)];
      const [slow, quick] = [await create(slowClock), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await slow.enqueue("a", 1);
      // The first process hangs: no heartbeat.
      slow.work("a", workOptions({ leaseMs: 9000 }), (job, context) =>
        first.run(job, { ...context, signal: new AbortController().signal }),
      );
      const stale = await first.nth(1);
      quick.work("a", workOptions({ leaseMs: 9000 }), second.run);
      await advanceUntil(clock, 1000, () => second.started.length === 1);
      assert.ok(clock.now() > NOON + 9000);
      const current = second.started[0]!;
      assert.deepEqual([current.id, current.attempt], [id, 2]);
      await current.context.progress("second");
      await assert.rejects(stale.context.progress("first"), (err) => isStoreError(err, "leaseLost"));
      stale.succeed();
      // The slot becomes free only after the result of the first job is stored or rejected.
      await slow.enqueue("a", 2);
      (await first.nth(2)).succeed();
      assert.deepEqual(await slow.get(id), {
        id,
        kind: "a",
        status: "running",
        attempt: 2,
        progress: "second",
        error: undefined,
      });
      current.succeed();
      await until(async () => (await statusOf(slow, id)) === "done");
    });

    test("of a dead process ends when the next exclusive process starts", async (t) => {
      const { db, create } = await openJobsDatabase(engine, t);
      const clock = createManualClock(NOON);
      const [dead, alive] = [await create(createManualClock(NOON)), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await dead.enqueue("a", 1);
      // The process hangs: no heartbeat, and none of its jobs finishes.
      dead.work("a", workOptions({ leaseMs: 60_000 }), (job, context) =>
        first.run(job, { ...context, signal: new AbortController().signal }),
      );
      const stale = await first.nth(1);
      await reclaimJobs(db);
      alive.work("a", workOptions(), second.run);
      const { attempt, succeed } = await second.nth(1);
      assert.deepEqual([attempt, clock.now()], [2, NOON]);
      succeed();
      await until(async () => (await statusOf(alive, id)) === "done");
      stale.succeed();
    });

    test("that is lost aborts the job", async (t) => {
      const { create } = await openJobsDatabase(engine, t);
      const [slowClock, clock] = [createManualClock(NOON), createManualClock(NOON)];
      const [slow, quick] = [await create(slowClock), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      await slow.enqueue("a", 1);
      slow.work("a", workOptions({ leaseMs: 9000 }), first.run);
      const stale = await first.nth(1);
      quick.work("a", workOptions({ leaseMs: 9000 }), second.run);
      await advanceUntil(clock, 1000, () => second.started.length === 1);
      // The first process resumes before its own clock reaches the end of the lease: the heartbeat detects the loss.
      slowClock.advance(3000);
      await until(() => stale.context.signal.aborted);
      assert.ok(isStoreError(stale.context.signal.reason, "leaseLost"));
      second.started[0]!.succeed();
    });

    test("that expires during the last attempt fails the job", async (t) => {
      const { create } = await openJobsDatabase(engine, t);
      const clock = createManualClock(NOON);
      const [dead, alive] = [await create(createManualClock(NOON)), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await dead.enqueue("a", 1, { attempts: 1 });
      dead.work("a", workOptions(), first.run);
      await first.nth(1);
      alive.work("a", workOptions(), second.run);
      await advanceUntil(clock, 1000, async () => (await statusOf(alive, id)) === "failed");
      assert.equal(second.started.length, 0);
      assert.match((await alive.get(id))!.error!, /disappeared/);
    });

    test("that expires during the last attempt is not claimed again", async (t) => {
      const { db, create } = await openJobsDatabase(engine, t);
      const [dead, first] = [await create(createManualClock(NOON)), controlled()];
      const ids = [await dead.enqueue("a", 1, { attempts: 1 }), await dead.enqueue("a", 2, { attempts: 2 })];
      dead.work("a", workOptions({ concurrency: 2 }), first.run);
      await first.nth(2);
      const claimant = { token: "another", now: NOON + 60_000, leaseUntil: NOON + 90_000 };
      const claimed = await createJobsTable(db).claimExpired("a", 10, claimant);
      assert.deepEqual(
        claimed.map(({ id, attempt }) => [id, attempt]),
        [[ids[1], 2]],
      );
    });
  });

  test("a job in its last attempt does not fail while its lease is valid", async (t) => {
    const { create, leaseOf } = await openJobsDatabase(engine, t);
    const clock = createManualClock(NOON);
    const [mine, other] = [await create(clock), await create(clock)];
    const [first, second] = [controlled(), controlled()];
    const id = await mine.enqueue("a", 1, { attempts: 1 });
    mine.work("a", workOptions(), first.run);
    const running = await first.nth(1);
    other.work("a", workOptions({ concurrency: 2 }), second.run);
    await mine.enqueue("a", 2);
    // The other process polls every second and claims any available job. The clock waits for the first process, which
    // renews its lease of 30 s after a third of that time.
    await until(async () => {
      if (second.started.length === 1) return true;
      if ((await leaseOf(id))! > clock.now() + 15_000) clock.advance(50);
      return false;
    });
    second.started[0]!.succeed();
    assert.equal(await statusOf(mine, id), "running");
    running.succeed();
    await until(async () => (await statusOf(mine, id)) === "done");
  });
}
