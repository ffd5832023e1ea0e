import { queueErrors } from "./errors.ts";
import { queueLimits } from "./limits.ts";
import type { Consumer, NewConsumer, Queue, QueueSettings } from "./port.ts";
import type { QueueWithConsumer } from "./queues-table.ts";
import type { ConsumerRow, QueueRow } from "./schema.ts";

const NAME = /^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/;

export function checkQueueName(name: string): void {
  if (!NAME.test(name)) throw queueErrors.badName({ name: JSON.stringify(name.slice(0, 100)) });
}

interface Range {
  min: number;
  max: number;
}
const DELAY: Range = { min: 0, max: queueLimits.delaySeconds };

type BadSettings = typeof queueErrors.badQueueSettings | typeof queueErrors.badConsumerSettings;

function checkRange(field: string, value: number | undefined, { min, max }: Range, createError: BadSettings): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= min && value <= max))
    throw createError({ field, value, range: `a whole number from ${min} to ${max}` });
}

/** Checks settings and returns the columns of those that are given. Throws badQueueSettings. */
export function settingColumns(
  settings: Partial<QueueSettings>,
): Partial<Pick<QueueRow, "delivery_delay" | "delivery_paused" | "retention" | "jurisdiction">> {
  const { deliveryDelay, deliveryPaused, retention, jurisdiction } = settings;
  checkRange("delivery_delay", deliveryDelay, DELAY, queueErrors.badQueueSettings);
  checkRange("message_retention_period", retention, queueLimits.retention, queueErrors.badQueueSettings);
  return {
    ...(deliveryDelay !== undefined && { delivery_delay: deliveryDelay }),
    ...(deliveryPaused !== undefined && { delivery_paused: deliveryPaused ? 1 : 0 }),
    ...(retention !== undefined && { retention }),
    ...(jurisdiction !== undefined && { jurisdiction }),
  };
}

type SettingColumns = Pick<
  ConsumerRow,
  | "type"
  | "script"
  | "dead_letter_queue"
  | "batch_size"
  | "max_wait_ms"
  | "max_retries"
  | "max_concurrency"
  | "retry_delay"
  | "visibility_ms"
>;

export function consumerColumns(queue: { name: string }, consumer: NewConsumer): SettingColumns {
  const { type, script, deadLetterQueue, batchSize, maxWaitMs, maxRetries, maxConcurrency, retryDelay, visibilityMs } =
    consumer;
  const limits = queueLimits.consumer;
  const createError = queueErrors.badConsumerSettings;
  checkRange("batch_size", batchSize, limits.batchSize, createError);
  checkRange("max_wait_time_ms", maxWaitMs, limits.maxWaitMs, createError);
  checkRange("max_retries", maxRetries, limits.maxRetries, createError);
  checkRange("max_concurrency", maxConcurrency, limits.maxConcurrency, createError);
  checkRange("retry_delay", retryDelay, DELAY, createError);
  checkRange("visibility_timeout_ms", visibilityMs, limits.visibilityMs, createError);
  if (deadLetterQueue !== undefined) checkQueueName(deadLetterQueue);
  if (deadLetterQueue === queue.name) throw queueErrors.ownDeadLetterQueue({ queue: queue.name });
  return {
    type,
    script: type === "worker" ? (script ?? null) : null,
    dead_letter_queue: deadLetterQueue ?? null,
    batch_size: batchSize ?? limits.batchSize.default,
    max_wait_ms: maxWaitMs ?? limits.maxWaitMs.default,
    max_retries: maxRetries ?? limits.maxRetries.default,
    max_concurrency: maxConcurrency ?? null,
    retry_delay: retryDelay ?? null,
    visibility_ms: visibilityMs ?? limits.visibilityMs.default,
  };
}

export const queueOf = ({ consumer, ...row }: QueueWithConsumer): Queue => ({
  id: row.id,
  account: row.account_id,
  name: row.name,
  createdAt: new Date(row.created_at),
  modifiedAt: new Date(row.modified_at),
  purgedAt: row.purged_at === null ? undefined : new Date(row.purged_at),
  deliveryDelay: row.delivery_delay,
  deliveryPaused: row.delivery_paused === 1,
  retention: row.retention,
  jurisdiction: row.jurisdiction ?? undefined,
  consumer: consumer && consumerOf(consumer),
});

export const consumerOf = (row: ConsumerRow): Consumer => ({
  id: row.id,
  type: row.type,
  createdAt: new Date(row.created_at),
  script: row.script ?? undefined,
  deadLetterQueue: row.dead_letter_queue ?? undefined,
  batchSize: row.batch_size,
  maxWaitMs: row.max_wait_ms,
  maxRetries: row.max_retries,
  maxConcurrency: row.max_concurrency ?? undefined,
  retryDelay: row.retry_delay ?? undefined,
  visibilityMs: row.visibility_ms,
});
