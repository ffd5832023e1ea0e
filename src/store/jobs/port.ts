/**
 * Work that outlives a process. At least once: a handler writes to attempt-specific places and publishes when it returns,
 * because a lost lease may be running elsewhere already.
 */
export interface Jobs {
  /** `key`: at most one job of this kind and key is waiting; a second enqueue returns the first one's id. Higher priority first (default 0). */
  enqueue(kind: string, payload: unknown, options?: { key?: string; runAt?: Date; priority?: number; attempts?: number }): Promise<string>;
  work(kind: string, options: WorkOptions, run: (job: Job, context: JobContext) => Promise<void>): JobWorker;
  get(id: string): Promise<JobState | undefined>;
}

export interface WorkOptions {
  concurrency: number;
  /** A job whose lease is not renewed for this long is given to someone else. Renewed by itself at a third of this. */
  leaseMs: number;
  /** How often to look for work when nothing announces any. Default 1000 ms. */
  pollMs?: number;
  /** Milliseconds to wait before attempt n+1 (n from 1). Default: 1 s, doubling, at most 1 h, with jitter. */
  backoff?: (attempt: number) => number;
}

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  /** From 1. */
  readonly attempt: number;
}

export interface JobContext {
  /** Aborted when the lease is lost or the worker stops. */
  readonly signal: AbortSignal;
  /** Stored beside the job; refused once the lease is lost. */
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
  /** Takes no new work, waits for what runs (aborting it after `graceMs`, default 10 s). */
  stop(options?: { graceMs?: number }): Promise<void>;
}
