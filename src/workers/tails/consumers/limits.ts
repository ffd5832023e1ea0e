/** Limits of one process. Trace items above them are dropped and counted in the log. */
export interface TailConsumerLimits {
  /** Items in one call of the tail handler, and their size as JSON. */
  batchItems: number;
  batchBytes: number;
  /** Items that wait for one tail worker while its calls run. */
  queueItems: number;
  /** Size of all waiting and running items of the process. */
  totalBytes: number;
  /** Concurrent calls of one tail worker. */
  calls: number;
  /** Invocations whose tail workers are being looked up. */
  lookups: number;
  /** Minimum time between two log lines about one tail worker. */
  logEveryMs: number;
}

const MIB = 1024 * 1024;

export const TAIL_CONSUMER_LIMITS: TailConsumerLimits = {
  batchItems: 100,
  batchBytes: MIB,
  queueItems: 1000,
  totalBytes: 32 * MIB,
  calls: 4,
  lookups: 1000,
  logEveryMs: 60_000,
};

/** Tail workers of one worker. */
export const MAX_TAIL_CONSUMERS = 10;
