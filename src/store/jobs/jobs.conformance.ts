import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock } from "../../kernel/index.ts";
import { isStoreError } from "../errors.ts";
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

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Tests the life cycle of jobs on every engine: start order, keys, attempts, deletion. */
export function jobsConformance(engine: TestEngine): void {
  describe("a job", () => {
    test("runs with its payload, reports progress and finishes", async (t) => {
      const jobs = await openJobs(engine, t);
      const { run, nth } = controlled();
      const payload = { text: "ü \0 '", list: [1, null, { deep: true }] };
      const id = await jobs.enqueue("mail.out", payload);
      assert.deepEqual(await jobs.get(id), {
        id,
        kind: "mail.out",
        status: "waiting",
        attempt: 0,
        progress: undefined,
        error: undefined,
      });
      jobs.work("mail.out", workOptions(), run);
      const job = await nth(1);
      assert.deepEqual([job.id, job.kind, job.payload, job.attempt], [id, "mail.out", payload, 1]);
      await job.context.progress({ percent: 40 });
      assert.deepEqual(await jobs.get(id), {
        id,
        kind: "mail.out",
        status: "running",
        attempt: 1,
        progress: { percent: 40 },
        error: undefined,
      });
      job.succeed();
      await until(async () => (await statusOf(jobs, id)) === "done");
      assert.equal(job.context.signal.aborted, false);
    });

    test("starts when it is enqueued, not only at the next poll", async (t) => {
      const jobs = await openJobs(engine, t);
      const { run, nth } = controlled();
      jobs.work("a", workOptions({ pollMs: NEVER }), run);
      for (let n = 1; n <= 3; n++) {
        await jobs.enqueue("a", n);
        (await nth(n)).succeed();
      }
    });

    test("is only run by a worker of its kind", async (t) => {
      const jobs = await openJobs(engine, t);
      const { run, nth, started } = controlled();
      await jobs.enqueue("other", 0);
      jobs.work("a", workOptions(), run);
      await jobs.enqueue("a", 1);
      (await nth(1)).succeed();
      assert.deepEqual(
        started.map(({ kind }) => kind),
        ["a"],
      );
    });

    test("runs in order of priority, then due time, then age", async (t) => {
      const jobs = await openJobs(engine, t, createManualClock(NOON));
      const { run, nth } = controlled();
      for (const [name, priority, due] of [
        ["third", 0, 0],
        ["second", 0, -5],
        ["fourth", 0, 0],
        ["first", 7, 0],
        ["last", -1, -9],
      ] as const) {
        await jobs.enqueue("a", name, { priority, runAt: new Date(NOON + due) });
      }
      jobs.work("a", workOptions({ pollMs: NEVER }), run);
      for (const [index, name] of ["first", "second", "third", "fourth", "last"].entries()) {
        const job = await nth(index + 1);
        assert.equal(job.payload, name);
        job.succeed();
      }
    });

    test("waits for its time", async (t) => {
      const clock = createManualClock(NOON);
      const jobs = await openJobs(engine, t, clock);
      const { run, nth, started } = controlled();
      jobs.work("a", workOptions({ leaseMs: LONG_LEASE_MS }), run);
      await jobs.enqueue("a", "later", { runAt: new Date(NOON + 5000) });
      await jobs.enqueue("a", "now");
      (await nth(1)).succeed();
      await advanceUntil(clock, 500, () => started.length === 2);
      assert.deepEqual(
        started.map(({ payload }) => payload),
        ["now", "later"],
      );
      assert.ok(clock.now() >= NOON + 5000);
      started[1]!.succeed();
    });

    test("with an invalid payload is rejected", async (t) => {
      const jobs = await openJobs(engine, t);
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      const refused = (err: unknown) => isStoreError(err, "badJob");
      for (const payload of [cycle, 1n, () => {}, "x".repeat(1_100_000)])
        await assert.rejects(jobs.enqueue("a", payload), refused);
      for (const kind of ["", "A", "two words", "x".repeat(65), "9"])
        await assert.rejects(jobs.enqueue(kind, 1), refused, kind);
      for (const bad of [
        { key: "x".repeat(501) },
        { key: "\0" },
        { priority: 0.5 },
        { attempts: 0 },
        { attempts: Number.NaN },
      ])
        await assert.rejects(jobs.enqueue("a", 1, bad), refused);
      assert.equal(await jobs.get("absent"), undefined);
    });
  });

  describe("a key", () => {
    test("has at most one waiting job, which gets the earlier time and the higher priority", async (t) => {
      const clock = createManualClock(NOON);
      const jobs = await openJobs(engine, t, clock);
      const { run, nth, started } = controlled();
      const id = await jobs.enqueue("a", "first", { key: "k", runAt: new Date(NOON + HOUR) });
      assert.equal(await jobs.enqueue("a", "second", { key: "k", runAt: new Date(NOON + 2 * HOUR), priority: -1 }), id);
      assert.notEqual(await jobs.enqueue("b", "other kind", { key: "k" }), id);
      await jobs.enqueue("a", "unkeyed", { priority: 4 });
      assert.equal(await jobs.enqueue("a", "third", { key: "k", priority: 5 }), id);
      jobs.work("a", workOptions({ pollMs: NEVER }), run);
      const job = await nth(1);
      assert.deepEqual([job.id, job.payload], [id, "first"]);
      // The first job is running, so the next one may wait.
      const next = await jobs.enqueue("a", "next", { key: "k" });
      assert.notEqual(next, id);
      assert.equal(await jobs.enqueue("a", "again", { key: "k" }), next);
      job.succeed();
      (await nth(2)).succeed();
      (await nth(3)).succeed();
      await until(async () => (await statusOf(jobs, next)) === "done");
      assert.deepEqual(
        started.map(({ payload }) => payload),
        ["first", "unkeyed", "next"],
      );
    });

    test("used by concurrent calls has only one job", async (t) => {
      const { create } = await openJobsDatabase(engine, t);
      const both = [await create(), await create()];
      const ids = await Promise.all(
        Array.from({ length: 30 }, (_, n) => both[n % 2]!.enqueue("a", n, { key: "same" })),
      );
      assert.equal(new Set(ids).size, 1);
    });

    test("drops a failed job if another one is waiting", async (t) => {
      const jobs = await openJobs(engine, t);
      const { run, nth } = controlled();
      const id = await jobs.enqueue("a", 1, { key: "k" });
      jobs.work("a", workOptions(), run);
      const job = await nth(1);
      const successor = await jobs.enqueue("a", 2, { key: "k" });
      job.fail(new Error("broken pipe"));
      const second = await nth(2);
      assert.equal(second.id, successor);
      assert.match((await jobs.get(id))!.error!, new RegExp(`${successor}.*broken pipe`));
      second.succeed();
    });
  });

  describe("a failed attempt", () => {
    test("is retried after its backoff, and its error is stored", async (t) => {
      const clock = createManualClock(NOON);
      const jobs = await openJobs(engine, t, clock);
      const { run, nth, started } = controlled();
      const id = await jobs.enqueue("a", 1);
      const attempts: number[] = [];
      const backoff = (attempt: number) => (attempts.push(attempt), attempt * 10_000);
      jobs.work("a", workOptions({ leaseMs: LONG_LEASE_MS, backoff }), run);
      const times: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt++) {
        await advanceUntil(clock, 1000, () => started.length >= attempt);
        times.push(clock.now());
        const job = started[attempt - 1]!;
        assert.equal(job.attempt, attempt);
        if (attempt === 3) job.succeed();
        else job.fail(new Error(`try ${attempt}\0`));
        await until(async () => (await statusOf(jobs, id)) !== "running");
        assert.equal((await jobs.get(id))!.error, attempt === 3 ? undefined : `try ${attempt}`);
      }
      assert.deepEqual(attempts, [1, 2]);
      assert.ok(times[1]! - times[0]! >= 10_000 && times[2]! - times[1]! >= 20_000, String(times));
      assert.equal(await statusOf(jobs, id), "done");
      await nth(3);
    });

    test("fails the job if it was the last one", async (t) => {
      const jobs = await openJobs(engine, t);
      let runs = 0;
      const id = await jobs.enqueue("a", 1, { attempts: 3 });
      jobs.work("a", workOptions({ pollMs: 5, backoff: () => 0 }), async () => {
        throw new Error(`no ${++runs}`);
      });
      await until(async () => (await statusOf(jobs, id)) === "failed");
      assert.deepEqual([runs, (await jobs.get(id))!.attempt, (await jobs.get(id))!.error], [3, 3, "no 3"]);
    });
  });

  test("deletes finished jobs after a day and failed jobs after thirty days", async (t) => {
    const { create } = await openJobsDatabase(engine, t);
    const clock = createManualClock(NOON);
    const jobs = await create(clock);
    const [good, bad, waiting] = [
      await jobs.enqueue("a", "good"),
      await jobs.enqueue("a", "bad", { attempts: 1 }),
      await jobs.enqueue("b", 1),
    ];
    jobs.work("a", workOptions(), async ({ payload }) => {
      if (payload === "bad") throw new Error("bad");
    });
    await until(async () => (await statusOf(jobs, good)) === "done" && (await statusOf(jobs, bad)) === "failed");
    clock.advance(DAY - HOUR);
    const later = await jobs.enqueue("a", "later");
    await until(async () => (await statusOf(jobs, later)) === "done");
    assert.equal(await statusOf(jobs, good), "done");
    // In small steps after two days, so that a slow database cannot bring the clock to the end of the thirty days.
    await until(async () => {
      clock.advance(clock.now() < NOON + 2 * DAY ? HOUR : 1000);
      return (await statusOf(jobs, good)) === undefined;
    });
    assert.equal(await statusOf(jobs, bad), "failed");
    clock.advance(29 * DAY);
    await until(async () => (clock.advance(HOUR), (await statusOf(jobs, bad)) === undefined));
    assert.equal(await statusOf(jobs, waiting), "waiting");
  });
}
