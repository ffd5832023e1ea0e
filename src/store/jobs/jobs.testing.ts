import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog, systemClock, type Clock } from "../../kernel/index.ts";
import { createLocalEvents } from "../events/local.ts";
import { createJobs } from "./jobs.ts";
import { type JobRow, jobsMigrations } from "./jobs-table.ts";
import type { Job, JobContext, Jobs, WorkOptions } from "./port.ts";

export const NOON = Date.UTC(2026, 0, 1, 12);
/** Poll interval and grace period that exceed every test, in milliseconds. */
export const NEVER = 3_600_000;
/**
 * Lease for tests that advance the clock in order to wait, in milliseconds: while a slow database claims a job, they
 * may advance it by more than 30 s.
 */
export const LONG_LEASE_MS = 365 * 24 * 3_600_000;

/** Opens the job queue of a single process. */
export const openJobs = async (engine: TestEngine, t: TestContext, clock?: Clock): Promise<Jobs> =>
  (await openJobsDatabase(engine, t)).create(clock);

/** `create(clock)` returns the job queue of another process, with its own connection, events and clock. */
export async function openJobsDatabase(engine: TestEngine, t: TestContext) {
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
export function controlled() {
  const started: (Job & { context: JobContext; succeed(): void; fail(reason: unknown): void })[] = [];
  const run = (job: Job, context: JobContext) =>
    new Promise<void>((resolve, reject) => {
      started.push({ ...job, context, succeed: resolve, fail: reject });
      context.signal.addEventListener("abort", () => reject(context.signal.reason));
    });
  return { started, run, nth: async (n: number) => (await until(() => started.length >= n), started[n - 1]!) };
}

/**
 * Advances the clock in steps until the condition is met. Checks it before each step: a job that has started keeps the
 * time at which it was claimed.
 */
export const advanceUntil = (
  clock: { advance(ms: number): void },
  stepMs: number,
  check: () => boolean | Promise<boolean>,
): Promise<void> => until(async () => (await check()) || (clock.advance(stepMs), false));

/** Defaults: one job at a time, a lease of 30 s, a poll each second. */
export const workOptions = (more: Partial<WorkOptions> = {}): WorkOptions => ({
  concurrency: 1,
  leaseMs: 30_000,
  pollMs: 1000,
  ...more,
});

export const statusOf = async (jobs: Jobs, id: string) => (await jobs.get(id))?.status;

/** Polls for at most a minute. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await check()); await sleep(2)) {
    if (Date.now() > deadline) assert.fail(`timed out: ${check.toString()}`);
  }
}
