import { z } from "@hono/zod-openapi";
import { queueErrors, type Queue, type QueueConsumer, type QueueMetrics, type Queues } from "../../../workers/index.ts";
import type { Scripts } from "../../../workers/index.ts";

export interface QueueRouteDeps {
  queues: Queues;
  scripts: Pick<Scripts, "get" | "queueProducers">;
}

export const QUEUES = "/accounts/{account_id}/queues";
export const QUEUE = `${QUEUES}/{queue_id}`;
// The hosted service accepts these permission groups in addition to those for Queues.
export const READ_OPTIONS = { tag: "Queue", permission: "Workers Scripts Read" } as const;
export const WRITE_OPTIONS = { tag: "Queue", permission: "Workers Scripts Write" } as const;

const instant = z.iso.datetime();

export const consumerShape = z.looseObject({
  consumer_id: z.string(),
  created_on: instant,
  queue_name: z.string(),
  type: z.enum(["worker", "http_pull"]),
  script: z.string().optional(),
  script_name: z.string().optional(),
  dead_letter_queue: z.string().optional(),
  settings: z.record(z.string(), z.number()),
});

export function toConsumerResponse(queue: Pick<Queue, "name">, consumer: QueueConsumer) {
  const { script, maxConcurrency, retryDelay } = consumer;
  return {
    consumer_id: consumer.id,
    created_on: consumer.createdAt.toISOString(),
    queue_name: queue.name,
    type: consumer.type,
    // wrangler reads `script`; the published API specifies `script_name`.
    ...(script !== undefined && { script, script_name: script }),
    ...(consumer.deadLetterQueue !== undefined && { dead_letter_queue: consumer.deadLetterQueue }),
    settings: {
      batch_size: consumer.batchSize,
      max_retries: consumer.maxRetries,
      ...(retryDelay !== undefined && { retry_delay: retryDelay }),
      ...(consumer.type === "http_pull" && { visibility_timeout_ms: consumer.visibilityMs }),
      ...(consumer.type === "worker" && { max_wait_time_ms: consumer.maxWaitMs }),
      ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
    },
  };
}

export const queueShape = z.looseObject({
  queue_id: z.string(),
  queue_name: z.string(),
  created_on: instant,
  modified_on: instant,
  producers_total_count: z.number().int(),
  producers: z.array(z.object({ type: z.literal("worker"), script: z.string() })),
  consumers_total_count: z.number().int(),
  consumers: z.array(consumerShape),
  settings: z.object({
    delivery_delay: z.number().int(),
    delivery_paused: z.boolean(),
    message_retention_period: z.number().int(),
  }),
});

export function toQueueResponse(queue: Queue, producers: ReadonlyMap<string, string[]>) {
  const scripts = producers.get(queue.name) ?? [];
  return {
    queue_id: queue.id,
    queue_name: queue.name,
    created_on: queue.createdAt.toISOString(),
    modified_on: queue.modifiedAt.toISOString(),
    ...(queue.jurisdiction !== undefined && { jurisdiction: queue.jurisdiction }),
    producers_total_count: scripts.length,
    producers: scripts.map((script) => ({ type: "worker" as const, script })),
    consumers_total_count: queue.consumer === undefined ? 0 : 1,
    consumers: queue.consumer === undefined ? [] : [toConsumerResponse(queue, queue.consumer)],
    settings: {
      delivery_delay: queue.deliveryDelay,
      delivery_paused: queue.deliveryPaused,
      message_retention_period: queue.retention,
    },
  };
}

export const metricsShape = z.object({
  backlog_count: z.number().int(),
  backlog_bytes: z.number().int(),
  oldest_message_timestamp_ms: z.number().int(),
});

export const toMetricsResponse = ({ backlogCount, backlogBytes, oldestMessage }: QueueMetrics) => ({
  backlog_count: backlogCount,
  backlog_bytes: backlogBytes,
  oldest_message_timestamp_ms: oldestMessage?.getTime() ?? 0,
});

/** Returns the queue in the path. Throws queueMissing. */
export async function getQueue(queues: Queues, params: Record<string, string>): Promise<Queue> {
  const queue = await queues.get(params.account_id!, params.queue_id!);
  if (queue === undefined) throw queueErrors.queueMissing({ queue: params.queue_id });
  return queue;
}
