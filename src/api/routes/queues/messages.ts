import { z } from "@hono/zod-openapi";
import {
  queueErrors,
  queueLimits,
  type NewQueueMessage,
  type QueueMessage,
  type QueueMessages,
  type Queues,
} from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  metricsShape,
  QUEUE,
  getQueue,
  queueShape,
  READ_OPTIONS,
  toMetricsResponse,
  toQueueResponse,
  WRITE_OPTIONS,
} from "./shapes.ts";
import type { QueueRouteDeps } from "./shapes.ts";

export interface MessageRouteDeps extends QueueRouteDeps {
  messages: QueueMessages;
  queues: Queues;
}

const MESSAGES = `${QUEUE}/messages`;
const optionalSeconds = z.number().nullish();
const messageBody = z.object({
  body: z.unknown(),
  content_type: z.enum(["json", "text", "bytes"]).optional(),
  delay_seconds: optionalSeconds,
});
const batchSize = z.number().int().min(1).max(queueLimits.pull.batchSize.max).nullish();
const { visibilityMs } = queueLimits.consumer;
const metadata = z.object({ metrics: metricsShape });
const messageSchema = z.looseObject({
  id: z.string(),
  body: z.string(),
  timestamp_ms: z.number().int(),
  attempts: z.number().int(),
  metadata: z.record(z.string(), z.string()),
});

function readMessage({ body, content_type = "json", delay_seconds }: z.infer<typeof messageBody>): NewQueueMessage {
  const delay = delay_seconds ?? undefined;
  if (content_type === "json") {
    if (body === undefined) throw queueErrors.badMessage({ reason: "it has no body", fix: 'Send { "body": … }.' });
    return { contentType: "json", body: Buffer.from(JSON.stringify(body)), delay };
  }
  if (typeof body !== "string")
    throw queueErrors.badMessage({
      reason: `its body is not a string, and its content_type is ${content_type}`,
      fix: 'Send a string, or use the content_type "json".',
    });
  return { contentType: content_type, body: Buffer.from(body, content_type === "bytes" ? "base64" : "utf8"), delay };
}

/** Bodies of content types other than text are base64-encoded. */
const toMessageResponse = ({ id, contentType, body, sentAt, attempts }: QueueMessage) => ({
  id,
  body: Buffer.from(body).toString(contentType === "text" ? "utf8" : "base64"),
  timestamp_ms: sentAt.getTime(),
  attempts,
  metadata: { "CF-Content-Type": contentType },
});

/** Routes that send, pull, peek, acknowledge and purge messages. */
export function messageRoutes({ queues, messages, scripts }: MessageRouteDeps): Route[] {
  return [
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-push-message",
        method: "post",
        path: MESSAGES,
        summary: "Push Message",
        audit: false,
        body: messageBody,
        result: z.object({ metadata }),
      },
      async ({ params, body }) => {
        const metrics = await messages.send(await getQueue(queues, params), [readMessage(body)]);
        return respond({ metadata: { metrics: toMetricsResponse(metrics) } });
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-push-messages",
        method: "post",
        path: `${MESSAGES}/batch`,
        summary: "Push Message Batch",
        audit: false,
        body: z.object({ messages: z.array(messageBody), delay_seconds: optionalSeconds }),
        result: z.object({ metadata }),
      },
      async ({ params, body: { messages: sentMessages, delay_seconds } }) => {
        const batch = sentMessages.map((message) =>
          readMessage({ ...message, delay_seconds: message.delay_seconds ?? delay_seconds }),
        );
        return respond({
          metadata: { metrics: toMetricsResponse(await messages.send(await getQueue(queues, params), batch)) },
        });
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-pull-messages",
        method: "post",
        path: `${MESSAGES}/pull`,
        summary: "Pull Queue Messages",
        audit: false,
        body: z.object({
          batch_size: batchSize,
          visibility_timeout_ms: z.number().int().min(visibilityMs.min).max(visibilityMs.max).nullish(),
          /** The former documented name of `visibility_timeout_ms`. */
          visibility_timeout: z.number().int().min(visibilityMs.min).max(visibilityMs.max).nullish(),
        }),
        bodyOptional: true,
        result: z.object({
          message_backlog_count: z.number().int(),
          messages: z.array(messageSchema.extend({ lease_id: z.string() })),
          metadata,
        }),
      },
      async ({ params, body }) => {
        const queue = await getQueue(queues, params);
        const pulledBatch = await messages.pull(queue, {
          batchSize: body.batch_size ?? undefined,
          visibilityMs: body.visibility_timeout_ms ?? body.visibility_timeout ?? undefined,
        });
        const metrics = await messages.metrics(queue);
        return respond({
          message_backlog_count: metrics.backlogCount,
          messages: pulledBatch.map((message) => ({ ...toMessageResponse(message), lease_id: message.leaseId })),
          metadata: { metrics: toMetricsResponse(metrics) },
        });
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-ack-messages",
        method: "post",
        path: `${MESSAGES}/ack`,
        summary: "Acknowledge + Retry Queue Messages",
        audit: false,
        body: z.object({
          acks: z
            .array(z.object({ lease_id: z.string() }))
            .max(1000)
            .nullish(),
          retries: z
            .array(z.object({ lease_id: z.string(), delay_seconds: optionalSeconds }))
            .max(1000)
            .nullish(),
        }),
        result: z.object({
          ackCount: z.number().int(),
          retryCount: z.number().int(),
          warnings: z.record(z.string(), z.string()),
        }),
      },
      async ({ params, body: { acks, retries } }) => {
        const settleResult = await messages.settle(
          await getQueue(queues, params),
          (acks ?? []).map(({ lease_id }) => lease_id),
          (retries ?? []).map(({ lease_id, delay_seconds }) => ({
            leaseId: lease_id,
            delay: delay_seconds ?? undefined,
          })),
        );
        return respond({
          ackCount: settleResult.acknowledged,
          retryCount: settleResult.retried,
          warnings: settleResult.warnings,
        });
      },
    ),
    route(
      {
        ...READ_OPTIONS,
        id: "queues-peek-messages",
        method: "post",
        path: `${MESSAGES}/peek`,
        summary: "Peek Queue Messages",
        audit: false,
        body: z.object({ batch_size: batchSize }),
        bodyOptional: true,
        result: z.object({ messages: z.array(messageSchema) }),
      },
      async ({ params, body: { batch_size } }) => {
        const peekedMessages = await messages.peek(
          await getQueue(queues, params),
          batch_size ?? queueLimits.pull.batchSize.default,
        );
        return respond({
          messages: peekedMessages.map((message) => ({ ...toMessageResponse(message), ref: message.id })),
        });
      },
    ),
    route(
      {
        ...READ_OPTIONS,
        id: "queues-get-metrics",
        method: "get",
        path: `${QUEUE}/metrics`,
        summary: "Get Queue Metrics",
        result: metricsShape,
      },
      async ({ params }) => respond(toMetricsResponse(await messages.metrics(await getQueue(queues, params)))),
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-purge",
        method: "post",
        path: `${QUEUE}/purge`,
        summary: "Purge Queue",
        audit: { before: false },
        body: z.object({ delete_messages_permanently: z.boolean().optional() }),
        result: queueShape,
      },
      async ({ params, body }) => {
        if (body.delete_messages_permanently !== true) throw queueErrors.purgeUnconfirmed();
        await messages.purge(await getQueue(queues, params));
        return respond(
          toQueueResponse(await getQueue(queues, params), await scripts.queueProducers(params.account_id!)),
        );
      },
    ),
    route(
      {
        ...READ_OPTIONS,
        id: "queues-purge-get",
        method: "get",
        path: `${QUEUE}/purge`,
        summary: "Get Queue Purge Status",
        result: z.object({ completed: z.string(), started_at: z.string().optional() }),
      },
      async ({ params }) => {
        const { purgedAt } = await getQueue(queues, params);
        // A purge request is answered only after the purge has completed.
        return respond({ completed: "true", ...(purgedAt !== undefined && { started_at: purgedAt.toISOString() }) });
      },
    ),
  ];
}
