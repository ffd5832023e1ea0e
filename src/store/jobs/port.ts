import type { Kysely } from "kysely";

/**
 * Jobs that outlive a process, executed at least once: a handler writes to attempt-specific locations and publishes
 * when it returns, because after a lost lease another worker may already be running the job.
 */
export interface Jobs {
  /**
   * Resolves with the id once the job is on disk. `key`: at most one waiting job per kind and key; a second enqueue
   * returns the id of the first, which gets the earlier runAt and the higher priority. Order: higher priority (default
   * 0), then earlier runAt. `attempts`: maximum number of attempts (default 20). Throws StoreError badJob for a payload
   * that is not JSON or exceeds 1 MiB.
   */
  enqueue(kind: string, payload: unknown, options?: EnqueueOptions): Promise<string>;
  /**
   * Runs `claim` in a transaction, and enqueues a job for each payload that it returns in the same transaction: after a
   * crash, either the claim and all its jobs exist, or nothing does. Resolves with the number of jobs when they are on
   * disk. `claim` may run again after a conflict, so it must only do database work, through `tx`. Throws like
   * `enqueue`.
   */
  enqueueClaimed<Tables>(
    kind: string,
    claim: (tx: Kysely<Tables>) => Promise<unknown[]>,
    options?: Omit<EnqueueOptions, "key">,
  ): Promise<number>;
  /**
   * Runs jobs of this kind until stopped: immediately after an enqueue in this process (or in any process, with events
   * over PostgreSQL), otherwise at the next poll.
   */
  work(kind: string, options: WorkOptions, run: (job: Job, context: JobContext) => Promise<void>): JobWorker;
  /** Finished jobs are retained for a day, failed ones for thirty days. */
  get(id: string): Promise<JobState | undefined>;
}

export interface EnqueueOptions {
  key?: string;
  runAt?: Date;
  priority?: number;
  attempts?: number;
}

export interface WorkOptions {
  concurrency: number;
  /**
   * A job whose lease is not renewed for this long passes to another worker. Leases are renewed automatically after a
   * third of this time.
   */
  leaseMs: number;
  /** Poll interval without notifications; limits the precision of runAt. Default 1000 ms. */
  pollMs?: number;
  /** Milliseconds before attempt n+1 (n from 1). Default: 1 s, doubling, at most 1 h, with jitter. */
  backoff?: (attempt: number) => number;
  /** Runs jobs of one key sequentially across processes. Default false: a key limits waiting jobs only. */
  onePerKey?: boolean;
}

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  /** Counts from 1. */
  readonly attempt: number;
}

export interface JobContext {
  /**
   * Aborted when the lease is lost or the worker stops. A job that then fails is queued again immediately, and the
   * attempt does not count.
   */
  readonly signal: AbortSignal;
  /** Stored with the job; throws StoreError leaseLost after the lease is lost. */
  progress(value: unknown): Promise<void>;
}

interface JobState {
  id: string;
  kind: string;
  status: "waiting" | "running" | "done" | "failed";
  attempt: number;
  progress: unknown;
  error: string | undefined;
}

export interface JobWorker {
  /**
   * Accepts no new jobs, waits for running ones, aborts them after `graceMs` (default 10 s), and abandons those that do
   * not end within another second.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}
