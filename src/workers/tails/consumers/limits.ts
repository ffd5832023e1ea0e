/** Limits per process. Trace items that exceed them are dropped and counted in the log. */
export interface TailConsumerLimits {
  /** Maximum number of items per call to a tail handler. */
  batchItems: number;
  /** Maximum size of a batch, measured as the length of its JSON text. */
  batchBytes: number;
  /** Maximum number of items that wait for one tail worker. */
  queueItems: number;
  /** Maximum total size of waiting and in-flight items in the process. */
  totalBytes: number;
  /** Maximum number of concurrent calls to one tail worker. */
  concurrentCalls: number;
  /** Maximum number of invocations whose tail workers are being looked up. */
  concurrentLookups: number;
  /** Minimum time between two identical log messages about one tail worker. */
  logEveryMs: number;
}

const MIB = 1024 * 1024;

export const TAIL_CONSUMER_LIMITS: TailConsumerLimits = {
  batchItems: 100,
  batchBytes: MIB,
  queueItems: 1000,
  totalBytes: 32 * MIB,
  concurrentCalls: 4,
  concurrentLookups: 1000,
  logEveryMs: 60_000,
};

/** Maximum number of tail workers per worker. */
export const MAX_TAIL_CONSUMERS = 10;
