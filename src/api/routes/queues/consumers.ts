import { z } from "@hono/zod-openapi";
import { queueErrors, type NewQueueConsumer } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  consumerShape,
  QUEUE,
  getQueue,
  READ_OPTIONS,
  toConsumerResponse,
  WRITE_OPTIONS,
  type QueueRouteDeps,
} from "./shapes.ts";

const CONSUMERS = `${QUEUE}/consumers`;
const CONSUMER = `${CONSUMERS}/{consumer_id}`;

const optionalNumber = z.number().nullish();
const consumerBody = z.looseObject({
  type: z.enum(["worker", "http_pull"]),
  script_name: z.string().optional(),
  dead_letter_queue: z.string().nullish(),
  settings: z
    .looseObject({
      batch_size: optionalNumber,
      max_concurrency: optionalNumber,
      max_retries: optionalNumber,
      max_wait_time_ms: optionalNumber,
      retry_delay: optionalNumber,
      visibility_timeout_ms: optionalNumber,
    })
    .nullish(),
});

/** Routes that list, add, change and remove the consumer of a queue. */
export function consumerRoutes({ queues, scripts }: QueueRouteDeps): Route[] {
  /** Throws consumerScriptMissing if the worker does not exist. */
  async function readConsumer(account: string, requestBody: z.infer<typeof consumerBody>): Promise<NewQueueConsumer> {
    const { type, script_name: script, dead_letter_queue: deadLetterQueue, settings } = requestBody;
    if (type === "worker" && (script === undefined || (await scripts.get(account, script)) === undefined))
      throw queueErrors.consumerScriptMissing({ script: script ?? "without script_name" });
    return {
      type,
      script,
      deadLetterQueue: deadLetterQueue || undefined,
      batchSize: settings?.batch_size ?? undefined,
      maxWaitMs: settings?.max_wait_time_ms ?? undefined,
      maxRetries: settings?.max_retries ?? undefined,
      maxConcurrency: settings?.max_concurrency ?? undefined,
      retryDelay: settings?.retry_delay ?? undefined,
      visibilityMs: settings?.visibility_timeout_ms ?? undefined,
    };
  }

  return [
    route(
      {
        ...READ_OPTIONS,
        id: "queues-list-consumers",
        method: "get",
        path: CONSUMERS,
        summary: "List Queue Consumers",
        result: z.array(consumerShape),
      },
      async ({ params }) => {
        const queue = await getQueue(queues, params);
        return respond(queue.consumer === undefined ? [] : [toConsumerResponse(queue, queue.consumer)]);
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-create-consumer",
        method: "post",
        path: CONSUMERS,
        summary: "Create a Queue Consumer",
        body: consumerBody,
        result: consumerShape,
      },
      async ({ params, body }) => {
        const account = params.account_id!;
        const queue = await getQueue(queues, params);
        return respond(
          toConsumerResponse(queue, await queues.addConsumer(account, queue.id, await readConsumer(account, body))),
        );
      },
    ),
    route(
      {
        ...READ_OPTIONS,
        id: "queues-get-consumer",
        method: "get",
        path: CONSUMER,
        summary: "Get Queue Consumer",
        result: consumerShape,
      },
      async ({ params }) => {
        const queue = await getQueue(queues, params);
        if (queue.consumer?.id !== params.consumer_id)
          throw queueErrors.consumerMissing({ queue: queue.name, consumer: params.consumer_id });
        return respond(toConsumerResponse(queue, queue.consumer!));
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-update-consumer",
        method: "put",
        path: CONSUMER,
        summary: "Update Queue Consumer",
        body: consumerBody,
        result: consumerShape,
      },
      async ({ params, body }) => {
        const account = params.account_id!;
        const queue = await getQueue(queues, params);
        const consumer = await readConsumer(account, body);
        return respond(
          toConsumerResponse(queue, await queues.replaceConsumer(account, queue.id, params.consumer_id!, consumer)),
        );
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-delete-consumer",
        method: "delete",
        path: CONSUMER,
        summary: "Delete Queue Consumer",
        result: z.null(),
      },
      async ({ params }) => {
        await queues.removeConsumer(params.account_id!, params.queue_id!, params.consumer_id!);
        return respond(null);
      },
    ),
  ];
}
