import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock } from "../../kernel/index.ts";
import {
  advanceUntil,
  controlled,
  LONG_LEASE_MS,
  NEVER,
  NOON,
  openJobs,
  openJobsDatabase,
  statusOf,
  until,
  workOptions,
} from "./jobs.testing.ts";

/** Tests workers on every engine: concurrency, several processes, stop. */
export function jobWorkersConformance(engine: TestEngine): void {
  test("runs at most `concurrency` jobs and uses every slot", async (t) => {
    const jobs = await openJobs(engine, t);
    await Promise.all(Array.from({ length: 12 }, (_, n) => jobs.enqueue("a", n)));
    const { run, started } = controlled();
    let over = 0;
    jobs.work("a", workOptions({ concurrency: 4, pollMs: NEVER }), run);
    for (let ended = 0; ended < 12; ended++) {
      await until(() => started.length >= Math.min(12, ended + 4));
      if (started.length > ended + 4) over++;
      started[ended]!.succeed();
    }
    assert.equal(over, 0);
  });

  test("onePerKey runs the jobs of one key one after another, and those of different keys concurrently", async (t) => {
    const { create } = await openJobsDatabase(engine, t);
    const [here, there] = [await create(), await create()];
    const { started, run, nth } = controlled();
    for (const jobs of [here, there]) jobs.work("a", workOptions({ concurrency: 4, pollMs: 5, onePerKey: true }), run);
    const enqueue = (key: string | undefined, payload: string) =>
      here.enqueue("a", payload, key === undefined ? {} : { key });
    await enqueue("zone", "first");
    await nth(1);
    await enqueue("zone", "second");
    await enqueue("other", "beside");
    for (const payload of ["keyless", "keyless too"]) await enqueue(undefined, payload);
    await nth(4);
    assert.deepEqual(started.map(({ payload }) => payload).sort(), ["beside", "first", "keyless", "keyless too"]);
    started.find(({ payload }) => payload === "first")!.succeed();
    assert.equal((await nth(5)).payload, "second");
  });

  test("many workers in several processes run each job only once", async (t) => {
    const { create } = await openJobsDatabase(engine, t);
    const processes = [await create(), await create(), await create()];
    const runs = new Map<unknown, number>();
    for (const jobs of processes) {
      jobs.work(
        "a",
        workOptions({ concurrency: 3, pollMs: 20 }),
        async ({ payload }) => void runs.set(payload, (runs.get(payload) ?? 0) + 1),
      );
    }
    const ids = await Promise.all(Array.from({ length: 90 }, (_, n) => processes[n % 3]!.enqueue("a", n)));
    for (const id of ids) await until(async () => (await statusOf(processes[0]!, id)) === "done");
    assert.deepEqual(
      [...runs.values()],
      Array.from({ length: 90 }, () => 1),
    );
  });

  describe("stop", () => {
    test("accepts no new jobs and waits for running ones", async (t) => {
      const jobs = await openJobs(engine, t);
      const { run, nth, started } = controlled();
      const [first, second] = [await jobs.enqueue("a", 1), await jobs.enqueue("a", 2)];
      const worker = jobs.work("a", workOptions(), run);
      const job = await nth(1);
      const stopped = worker.stop({ graceMs: NEVER });
      job.succeed();
      await stopped;
      assert.deepEqual(
        [await statusOf(jobs, first), await statusOf(jobs, second), started.length],
        ["done", "waiting", 1],
      );
    });

    test("aborts jobs after the grace period, and requeues them immediately without counting the attempt", async (t) => {
      // The clock does not advance after the abort, so the job has all the time it needs to stop.
      const clock = createManualClock(NOON);
      const jobs = await openJobs(engine, t, clock);
      const { run, nth } = controlled();
      const id = await jobs.enqueue("a", 1, { attempts: 1 });
      const worker = jobs.work("a", workOptions({ leaseMs: LONG_LEASE_MS }), run);
      const job = await nth(1);
      const stopped = Promise.all([worker.stop({ graceMs: 10 }), worker.stop()]);
      await advanceUntil(clock, 10, () => job.context.signal.aborted);
      await stopped;
      assert.deepEqual(await jobs.get(id), {
        id,
        kind: "a",
        status: "waiting",
        attempt: 0,
        progress: undefined,
        error: undefined,
      });
      jobs.work("a", workOptions(), run);
      const again = await nth(2);
      assert.equal(again.attempt, 1);
      again.succeed();
    });

    test("abandons a job that ignores the abort", async (t) => {
      const jobs = await openJobs(engine, t);
      const id = await jobs.enqueue("a", 1);
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      const worker = jobs.work("a", workOptions(), () => (start(), new Promise(() => {})));
      await started;
      await worker.stop({ graceMs: 0 });
      assert.equal(await statusOf(jobs, id), "running");
    });
  });
}
