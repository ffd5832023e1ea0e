import { type Clock, type Ids, leaseToken, type Log, messageOf } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { createWakeSignal } from "./wake-signal.ts";
import { finishedValues, type JobRow, type JobsTable } from "./jobs-table.ts";
import { toJson } from "./json.ts";
import { startLeaseRenewal, type Lease } from "./leases.ts";
import type { Job, JobContext, JobWorker, WorkOptions } from "./port.ts";

interface WorkerDeps {
  table: JobsTable;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Calls `wake` when a job of the kind may have arrived; returns a function that unsubscribes. */
  subscribe(wake: () => void): () => void;
}

interface Running extends Lease {
  row: JobRow;
  done: Promise<void>;
}

const DEFAULT_POLL_MS = 1_000;
const ABORT_GRACE_MS = 1_000;
const HOUR_MS = 3_600_000;
const RETENTION_MS = { done: 24 * HOUR_MS, failed: 30 * 24 * HOUR_MS };

/** Runs jobs of one kind, `concurrency` at a time, until stopped. */
export function startWorker(
  deps: WorkerDeps,
  kind: string,
  options: WorkOptions,
  run: (job: Job, context: JobContext) => Promise<void>,
): JobWorker {
  const { table, clock, ids, log } = deps;
  const { concurrency, leaseMs, pollMs = DEFAULT_POLL_MS, backoff = backoffMsOf, onePerKey = false } = options;
  const running = new Set<Running>();
  const wakeSignal = createWakeSignal(clock);
  const stopping = new AbortController();
  const endController = new AbortController();
  const leases = startLeaseRenewal(deps, running, leaseMs, endController.signal);
  const unsubscribe = deps.subscribe(wakeSignal.ring);
  const takeLoop = takeWork();
  let stopped: Promise<void> | undefined;

  async function takeWork() {
    let nextPollAt = 0;
    let nextForgetAt = 0;
    while (!stopping.signal.aborted) {
      const now = clock.now();
      try {
        if (now >= nextForgetAt) {
          await forgetOld();
          nextForgetAt = now + HOUR_MS;
        }
        if (now >= nextPollAt && running.size < concurrency) {
          await table.failExhausted(kind, now);
          await takeJobs(table.claimExpired);
          nextPollAt = now + Math.min(pollMs, leaseMs / 3);
        }
        if (running.size < concurrency) await takeJobs(table.claimWaiting);
      } catch (err) {
        log.error({ err, kind }, "jobs: failed to poll for jobs, will retry");
      }
      await wakeSignal.wait(pollMs);
    }
  }

  async function takeJobs(claim: JobsTable["claimWaiting"]) {
    const now = clock.now();
    const token = leaseToken(ids);
    const until = now + leaseMs;
    for (const row of await claim(kind, concurrency - running.size, { token, now, leaseUntil: until }, { onePerKey })) {
      const entry: Running = {
        id: row.id,
        token,
        row,
        until,
        lost: false,
        controller: new AbortController(),
        done: Promise.resolve(),
      };
      running.add(entry);
      entry.done = runOne(entry).finally(() => {
        running.delete(entry);
        wakeSignal.ring();
      });
    }
  }

  async function runOne(entry: Running): Promise<void> {
    const {
      id,
      controller,
      row: { attempt, payload },
    } = entry;
    let failure: { reason: unknown } | undefined;
    try {
      // The job was claimed at the moment of the stop.
      if (stopping.signal.aborted) controller.abort(new Error("the job worker is stopping"));
      controller.signal.throwIfAborted();
      await run(
        { id, kind, payload: JSON.parse(payload), attempt },
        { signal: controller.signal, progress: (value) => progress(entry, value) },
      );
    } catch (reason) {
      failure = { reason };
    }
    try {
      const counts = await retryWhileLeased(entry, () => recordOutcome(entry, failure));
      if (!counts)
        log.warn({ job: id, kind, attempt }, "jobs: lease lost before the job finished; its outcome is discarded");
    } catch (err) {
      log.error({ err, job: id, kind, attempt }, "jobs: failed to store the outcome; the job will run again");
    }
  }

  function recordOutcome(entry: Running, failure: { reason: unknown } | undefined): Promise<boolean> {
    const now = clock.now();
    const { attempt, max_attempts: maxAttempts, error: previousError } = entry.row;
    if (!failure) return table.settle(entry, { ...finishedValues("done", now), error: null });
    const isInterrupted = stopping.signal.aborted && entry.controller.signal.aborted;
    if (isInterrupted) return table.release(entry, now, { run_at: now, attempt: attempt - 1, error: previousError });
    const error = messageOf(failure.reason).replaceAll("\0", "").slice(0, 2000);
    if (attempt < maxAttempts)
      return table.release(entry, now, { run_at: now + Math.max(0, Math.round(backoff(attempt))), attempt, error });
    log.error({ err: failure.reason, job: entry.id, kind, attempt }, "jobs: last attempt failed");
    return table.settle(entry, { ...finishedValues("failed", now), error });
  }

  /** Retries the write during a database outage, while the lease is valid. */
  async function retryWhileLeased(entry: Running, write: () => Promise<boolean>): Promise<boolean> {
    while (!entry.lost) {
      try {
        return await write();
      } catch (err) {
        if (endController.signal.aborted) throw err;
        log.warn({ err, job: entry.id, kind }, "jobs: failed to store the outcome, will retry");
        await clock.sleep(Math.min(pollMs, leaseMs / 3), endController.signal).catch(() => {});
      }
    }
    return false;
  }

  async function progress(entry: Running, value: unknown): Promise<void> {
    const text = toJson(value);
    if (text === undefined) throw storeErrors.badJob({ kind, reason: "its progress is not JSON" });
    if (!entry.lost && (await table.settle(entry, { progress: text }))) return;
    leases.markLost(entry);
    throw storeErrors.leaseLost({ id: entry.id });
  }

  async function forgetOld() {
    for (const status of ["done", "failed"] as const)
      while ((await table.forget(status, clock.now() - RETENTION_MS[status])) === 1000);
  }

  async function stop(graceMs: number) {
    stopping.abort();
    unsubscribe();
    wakeSignal.ring();
    await takeLoop;
    await finish(graceMs);
    for (const { controller } of running) controller.abort(new Error("the job worker is stopping"));
    await finish(ABORT_GRACE_MS);
    endController.abort();
    for (const { id } of running)
      log.warn(
        { job: id, kind },
        "jobs: job abandoned, because it did not stop in time; it will run again when its lease expires",
      );
  }

  async function finish(ms: number) {
    if (ms <= 0 || running.size === 0) return;
    const lateController = new AbortController();
    const allDone = Promise.all([...running].map(({ done }) => done));
    await Promise.race([allDone, clock.sleep(ms, lateController.signal).catch(() => {})]);
    lateController.abort();
  }

  return { stop: ({ graceMs = 10_000 } = {}) => (stopped ??= stop(graceMs)) };
}

/** Returns 1 s, 2 s, 4 s ... 1 h, each with random jitter down to half of it. */
const backoffMsOf = (attempt: number) =>
  Math.min(HOUR_MS, 1000 * 2 ** Math.min(attempt - 1, 30)) * (0.5 + Math.random() / 2);
