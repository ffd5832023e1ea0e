import type { EnvironmentFields } from "./schema.ts";

/** Undefined settings use the published defaults. */
export interface QueueConsumerConfig {
  /** Name of the queue. */
  queue: string;
  batchSize: number | undefined;
  maxWaitMs: number | undefined;
  maxRetries: number | undefined;
  deadLetterQueue: string | undefined;
  maxConcurrency: number | undefined;
  /** In seconds. */
  retryDelay: number | undefined;
}

/** Returns the queues that the worker consumes, with their settings. */
export const makeConsumers = (fields: EnvironmentFields): QueueConsumerConfig[] =>
  (fields.queues?.consumers ?? []).map((entry) => ({
    queue: entry.queue,
    batchSize: entry.max_batch_size,
    maxWaitMs: entry.max_batch_timeout === undefined ? undefined : entry.max_batch_timeout * 1000,
    maxRetries: entry.max_retries,
    deadLetterQueue: entry.dead_letter_queue,
    maxConcurrency: entry.max_concurrency ?? undefined,
    retryDelay: entry.retry_delay,
  }));
