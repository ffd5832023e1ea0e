/**
 * Work that outlives a process. At least once: a handler writes to attempt-specific places and publishes when it returns,
 * because a lost lease may be running elsewhere already.
 */
export interface Jobs {
  /**
   * Resolves with the id once the job is on the disk. `key`: at most one job of this kind and key is waiting; a second enqueue returns
   * the first one's id, which takes over the earlier runAt and the higher priority. Higher priority first (default 0), then the earlier runAt.
   * `attempts`: how often it may be tried before it is failed (default 20). Throws StoreError badJob for a payload that is not JSON or over 1 MiB.
   */
  enqueue(
    kind: string,
    payload: unknown,
    options?: { key?: string; runAt?: Date; priority?: number; attempts?: number },
  ): Promise<string>;
  /** Takes jobs of this kind until stopped: at once when one is enqueued here (or, with events over PostgreSQL, anywhere), else at the next poll. */
  work(kind: string, options: WorkOptions, run: (job: Job, context: JobContext) => Promise<void>): JobWorker;
  /** Finished jobs are kept for a day, failed ones for thirty. */
  get(id: string): Promise<JobState | undefined>;
}

export interface WorkOptions {
  concurrency: number;
  /** A job whose lease is not renewed for this long is given to someone else. Renewed by itself at a third of this. */
  leaseMs: number;
  /** How often to look for work when nothing announces any: the precision of runAt. Default 1000 ms. */
  pollMs?: number;
  /** Milliseconds to wait before attempt n+1 (n from 1). Default: 1 s, doubling, at most 1 h, with jitter. */
  backoff?: (attempt: number) => number;
  /** Jobs of one key run one after the other, in whatever process. Default false: a key bounds only what waits. */
  onePerKey?: boolean;
}

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  /** From 1. */
  readonly attempt: number;
}

export interface JobContext {
  /** Aborted when the lease is lost or the worker stops. A job that then ends in an error waits again at once, and the attempt does not count. */
  readonly signal: AbortSignal;
  /** Stored beside the job; throws StoreError leaseLost once the lease is lost. */
  progress(value: unknown): Promise<void>;
}

export interface JobState {
  id: string;
  kind: string;
  status: "waiting" | "running" | "done" | "failed";
  attempt: number;
  progress: unknown;
  error: string | undefined;
}

export interface JobWorker {
  /** Takes no new work, waits for what runs, aborts it after `graceMs` (default 10 s), and leaves behind what ignores even that for another second. */
  stop(options?: { graceMs?: number }): Promise<void>;
}
