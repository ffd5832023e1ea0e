import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, systemClock, type Clock } from "../../kernel/index.ts";
import { isStoreError } from "../errors.ts";
import { createLocalEvents } from "../events/local.ts";
import { createJobs } from "./jobs.ts";
import { type JobRow, jobsMigrations, reclaimJobs } from "./jobs-table.ts";
import type { Job, JobContext, Jobs, WorkOptions } from "./port.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const NEVER = 3_600_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Behaviour of `Jobs` on every engine. */
export function jobsConformance(engine: TestEngine): void {
  /** `jobs(clock)` returns the job queue of another process, with its own connection, events and clock. */
  const open = async (t: TestContext) => (await openMore(t)).create;

  async function openMore(t: TestContext) {
    const stops: (() => Promise<void>)[] = [];
    // Hooks run in order of registration: workers stop before their database is closed.
    t.after(async () => void (await Promise.all(stops.map((stop) => stop()))));
    const { db, another } = await engine.open(t, jobsMigrations);
    const create = async (clock: Clock = systemClock): Promise<Jobs> => {
      const db = await another();
      const jobs = createJobs({
        db,
        clock,
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      return {
        ...jobs,
        work(kind, options, run) {
          const worker = jobs.work(kind, options, run);
          stops.push(() => worker.stop({ graceMs: 0 }));
          return worker;
        },
      };
    };
    const leaseOf = async (id: string) =>
      (
        await db
          .tables<{ jobs: JobRow }>()
          .selectFrom("jobs")
          .select("lease_until")
          .where("id", "=", id)
          .executeTakeFirst()
      )?.lease_until;
    return { db, create, leaseOf };
  }

  /** Collects jobs that a worker started; each runs until the test ends it. */
  function controlled() {
    const started: (Job & { context: JobContext; succeed(): void; fail(reason: unknown): void })[] = [];
    const run = (job: Job, context: JobContext) =>
      new Promise<void>((resolve, reject) => {
        started.push({ ...job, context, succeed: resolve, fail: reject });
        context.signal.addEventListener("abort", () => reject(context.signal.reason));
      });
    return { started, run, nth: async (n: number) => (await until(() => started.length >= n), started[n - 1]!) };
  }

  const options = (more: Partial<WorkOptions> = {}): WorkOptions => ({
    concurrency: 1,
    leaseMs: 30_000,
    pollMs: 1000,
    ...more,
  });
  const statusOf = async (jobs: Jobs, id: string) => (await jobs.get(id))?.status;

  describe("a job", () => {
    test("runs with its payload, reports progress and finishes", async (t) => {
      const jobs = await (await open(t))();
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
      jobs.work("mail.out", options(), run);
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
      const jobs = await (await open(t))();
      const { run, nth } = controlled();
      jobs.work("a", options({ pollMs: NEVER }), run);
      for (let n = 1; n <= 3; n++) {
        await jobs.enqueue("a", n);
        (await nth(n)).succeed();
      }
    });

    test("is only run by a worker of its kind", async (t) => {
      const jobs = await (await open(t))();
      const { run, nth, started } = controlled();
      await jobs.enqueue("other", 0);
      jobs.work("a", options(), run);
      await jobs.enqueue("a", 1);
      (await nth(1)).succeed();
      assert.deepEqual(
        started.map(({ kind }) => kind),
        ["a"],
      );
    });

    test("runs in order of priority, then due time, then age", async (t) => {
      const jobs = await (await open(t))(createManualClock(NOON));
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
      jobs.work("a", options({ pollMs: NEVER }), run);
      for (const [index, name] of ["first", "second", "third", "fourth", "last"].entries()) {
        const job = await nth(index + 1);
        assert.equal(job.payload, name);
        job.succeed();
      }
    });

    test("waits for its time", async (t) => {
      const clock = createManualClock(NOON);
      const jobs = await (await open(t))(clock);
      const { run, nth, started } = controlled();
      jobs.work("a", options(), run);
      await jobs.enqueue("a", "later", { runAt: new Date(NOON + 5000) });
      await jobs.enqueue("a", "now");
      (await nth(1)).succeed();
      await until(() => {
        clock.advance(500);
        return started.length === 2;
      });
      assert.deepEqual(
        started.map(({ payload }) => payload),
        ["now", "later"],
      );
      assert.ok(clock.now() >= NOON + 5000);
      started[1]!.succeed();
    });

    test("with an invalid payload is rejected", async (t) => {
      const jobs = await (await open(t))();
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
      const jobs = await (await open(t))(clock);
      const { run, nth, started } = controlled();
      const id = await jobs.enqueue("a", "first", { key: "k", runAt: new Date(NOON + HOUR) });
      assert.equal(await jobs.enqueue("a", "second", { key: "k", runAt: new Date(NOON + 2 * HOUR), priority: -1 }), id);
      assert.notEqual(await jobs.enqueue("b", "other kind", { key: "k" }), id);
      await jobs.enqueue("a", "unkeyed", { priority: 4 });
      assert.equal(await jobs.enqueue("a", "third", { key: "k", priority: 5 }), id);
      jobs.work("a", options({ pollMs: NEVER }), run);
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

    test("enqueued concurrently has only one job", async (t) => {
      const create = await open(t);
      const both = [await create(), await create()];
      const ids = await Promise.all(
        Array.from({ length: 30 }, (_, n) => both[n % 2]!.enqueue("a", n, { key: "same" })),
      );
      assert.equal(new Set(ids).size, 1);
    });

    test("drops a failed job if another one is waiting", async (t) => {
      const jobs = await (await open(t))();
      const { run, nth } = controlled();
      const id = await jobs.enqueue("a", 1, { key: "k" });
      jobs.work("a", options(), run);
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
    test("is followed by the next one after its backoff, and its error is stored", async (t) => {
      const clock = createManualClock(NOON);
      const jobs = await (await open(t))(clock);
      const { run, nth, started } = controlled();
      const id = await jobs.enqueue("a", 1);
      const attempts: number[] = [];
      jobs.work("a", options({ backoff: (attempt) => (attempts.push(attempt), attempt * 10_000) }), run);
      const times: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt++) {
        await until(() => (started.length < attempt && clock.advance(1000), started.length >= attempt));
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

    test("that was the last fails the job", async (t) => {
      const jobs = await (await open(t))();
      let runs = 0;
      const id = await jobs.enqueue("a", 1, { attempts: 3 });
      jobs.work("a", options({ pollMs: 5, backoff: () => 0 }), async () => {
        throw new Error(`no ${++runs}`);
      });
      await until(async () => (await statusOf(jobs, id)) === "failed");
      assert.deepEqual([runs, (await jobs.get(id))!.attempt, (await jobs.get(id))!.error], [3, 3, "no 3"]);
    });
  });

  test("at most `concurrency` jobs run, and every slot is used", async (t) => {
    const jobs = await (await open(t))();
    await Promise.all(Array.from({ length: 12 }, (_, n) => jobs.enqueue("a", n)));
    const { run, started } = controlled();
    let over = 0;
    jobs.work("a", options({ concurrency: 4, pollMs: NEVER }), run);
    for (let ended = 0; ended < 12; ended++) {
      await until(() => started.length >= Math.min(12, ended + 4));
      if (started.length > ended + 4) over++;
      started[ended]!.succeed();
    }
    assert.equal(over, 0);
  });

  test("jobs of one key run sequentially with onePerKey, and jobs of different keys run concurrently", async (t) => {
    const create = await open(t);
    const [here, there] = [await create(), await create()];
    const { started, run, nth } = controlled();
    for (const jobs of [here, there]) jobs.work("a", options({ concurrency: 4, pollMs: 5, onePerKey: true }), run);
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
    const create = await open(t);
    const processes = [await create(), await create(), await create()];
    const runs = new Map<unknown, number>();
    for (const jobs of processes) {
      jobs.work(
        "a",
        options({ concurrency: 3, pollMs: 20 }),
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

  describe("a lease", () => {
    test("that is renewed keeps a long job with its worker", async (t) => {
      const { create, leaseOf } = await openMore(t);
      const clock = createManualClock(NOON);
      const [mine, theirs] = [await create(clock), await create(clock)];
      const [own, other] = [controlled(), controlled()];
      const id = await mine.enqueue("a", 1);
      mine.work("a", options({ leaseMs: 9000 }), own.run);
      const job = await own.nth(1);
      theirs.work("a", options({ leaseMs: 9000, pollMs: 500 }), other.run);
      for (let step = 0; step < 10; step++) {
        clock.advance(3000);
        await until(async () => (await leaseOf(id)) === clock.now() + 9000);
      }
      assert.deepEqual([other.started.length, job.context.signal.aborted], [0, false]);
      job.succeed();
      await until(async () => (await statusOf(mine, id)) === "done");
      assert.equal((await mine.get(id))!.attempt, 1);
    });

    test("expires and passes the job to another process; later results of the first are ignored", async (t) => {
      const create = await open(t);
      const [slowClock, clock] = [createManualClock(NOON), createManualClock(NOON)];
      const [slow, quick] = [await create(slowClock), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await slow.enqueue("a", 1);
      // The first process hangs: no heartbeat.
      slow.work("a", options({ leaseMs: 9000 }), (job, context) =>
        first.run(job, { ...context, signal: new AbortController().signal }),
      );
      const stale = await first.nth(1);
      quick.work("a", options({ leaseMs: 9000 }), second.run);
      await until(() => (clock.advance(1000), second.started.length === 1));
      assert.ok(clock.now() > NOON + 9000);
      const current = second.started[0]!;
      assert.deepEqual([current.id, current.attempt], [id, 2]);
      await current.context.progress("second");
      await assert.rejects(stale.context.progress("first"), (err) => isStoreError(err, "leaseLost"));
      stale.succeed();
      // The slot is free again: the result of the job was stored or rejected first.
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
      const { db, create } = await openMore(t);
      const clock = createManualClock(NOON);
      const [dead, alive] = [await create(createManualClock(NOON)), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await dead.enqueue("a", 1);
      // The process hangs: no heartbeat, and none of its jobs finishes.
      dead.work("a", options({ leaseMs: 60_000 }), (job, context) =>
        first.run(job, { ...context, signal: new AbortController().signal }),
      );
      const stale = await first.nth(1);
      await reclaimJobs(db);
      alive.work("a", options(), second.run);
      const { attempt, succeed } = await second.nth(1);
      assert.deepEqual([attempt, clock.now()], [2, NOON]);
      succeed();
      await until(async () => (await statusOf(alive, id)) === "done");
      stale.succeed();
    });

    test("that is lost aborts the job", async (t) => {
      const create = await open(t);
      const [slowClock, clock] = [createManualClock(NOON), createManualClock(NOON)];
      const [slow, quick] = [await create(slowClock), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      await slow.enqueue("a", 1);
      slow.work("a", options({ leaseMs: 9000 }), first.run);
      const stale = await first.nth(1);
      quick.work("a", options({ leaseMs: 9000 }), second.run);
      await until(() => (clock.advance(1000), second.started.length === 1));
      // The first process resumes before its own clock reaches the end of the lease: the heartbeat detects the loss.
      slowClock.advance(3000);
      await until(() => stale.context.signal.aborted);
      assert.ok(isStoreError(stale.context.signal.reason, "leaseLost"));
      second.started[0]!.succeed();
    });

    test("that expires in the last attempt fails the job", async (t) => {
      const create = await open(t);
      const clock = createManualClock(NOON);
      const [dead, alive] = [await create(createManualClock(NOON)), await create(clock)];
      const [first, second] = [controlled(), controlled()];
      const id = await dead.enqueue("a", 1, { attempts: 1 });
      dead.work("a", options(), first.run);
      await first.nth(1);
      alive.work("a", options(), second.run);
      await until(async () => (clock.advance(1000), (await statusOf(alive, id)) === "failed"));
      assert.equal(second.started.length, 0);
      assert.match((await alive.get(id))!.error!, /disappeared/);
    });
  });

  describe("stop", () => {
    test("accepts no new jobs and waits for running ones", async (t) => {
      const jobs = await (await open(t))();
      const { run, nth, started } = controlled();
      const [first, second] = [await jobs.enqueue("a", 1), await jobs.enqueue("a", 2)];
      const worker = jobs.work("a", options(), run);
      const job = await nth(1);
      const stopped = worker.stop({ graceMs: NEVER });
      job.succeed();
      await stopped;
      assert.deepEqual(
        [await statusOf(jobs, first), await statusOf(jobs, second), started.length],
        ["done", "waiting", 1],
      );
    });

    test("aborts jobs after the grace period; they are queued again immediately, and the attempt does not count", async (t) => {
      const jobs = await (await open(t))();
      const { run, nth } = controlled();
      const id = await jobs.enqueue("a", 1, { attempts: 1 });
      const worker = jobs.work("a", options(), run);
      const job = await nth(1);
      await Promise.all([worker.stop({ graceMs: 10 }), worker.stop()]);
      assert.equal(job.context.signal.aborted, true);
      assert.deepEqual(await jobs.get(id), {
        id,
        kind: "a",
        status: "waiting",
        attempt: 0,
        progress: undefined,
        error: undefined,
      });
      jobs.work("a", options(), run);
      const again = await nth(2);
      assert.equal(again.attempt, 1);
      again.succeed();
    });

    test("abandons a job that ignores the abort", async (t) => {
      const jobs = await (await open(t))();
      const id = await jobs.enqueue("a", 1);
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      const worker = jobs.work("a", options(), () => (start(), new Promise(() => {})));
      await started;
      await worker.stop({ graceMs: 0 });
      assert.equal(await statusOf(jobs, id), "running");
    });
  });

  test("a job in its last attempt does not fail while its lease is valid", async (t) => {
    const create = await open(t);
    const clock = createManualClock(NOON);
    const [mine, other] = [await create(clock), await create(clock)];
    const [first, second] = [controlled(), controlled()];
    const id = await mine.enqueue("a", 1, { attempts: 1 });
    mine.work("a", options(), first.run);
    const running = await first.nth(1);
    other.work("a", options({ concurrency: 2 }), second.run);
    await mine.enqueue("a", 2);
    // The other process polls every second and claims any available job.
    await until(() => (clock.advance(1000), second.started.length === 1));
    second.started[0]!.succeed();
    assert.equal(await statusOf(mine, id), "running");
    running.succeed();
    await until(async () => (await statusOf(mine, id)) === "done");
  });

  test("deletes finished jobs after a day and failed jobs after thirty days", async (t) => {
    const create = await open(t);
    const clock = createManualClock(NOON);
    const jobs = await create(clock);
    const [good, bad, waiting] = [
      await jobs.enqueue("a", "good"),
      await jobs.enqueue("a", "bad", { attempts: 1 }),
      await jobs.enqueue("b", 1),
    ];
    jobs.work("a", options(), async ({ payload }) => {
      if (payload === "bad") throw new Error("bad");
    });
    await until(async () => (await statusOf(jobs, good)) === "done" && (await statusOf(jobs, bad)) === "failed");
    clock.advance(DAY - HOUR);
    const later = await jobs.enqueue("a", "later");
    await until(async () => (await statusOf(jobs, later)) === "done");
    assert.equal(await statusOf(jobs, good), "done");
    await until(async () => (clock.advance(HOUR), (await statusOf(jobs, good)) === undefined));
    assert.equal(await statusOf(jobs, bad), "failed");
    clock.advance(29 * DAY);
    await until(async () => (clock.advance(HOUR), (await statusOf(jobs, bad)) === undefined));
    assert.equal(await statusOf(jobs, waiting), "waiting");
  });
}

/** Polls for at most a minute. */
async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await check()); await sleep(2)) {
    if (Date.now() > deadline) assert.fail(`timed out: ${check.toString()}`);
  }
}
