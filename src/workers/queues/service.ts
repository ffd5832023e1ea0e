import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError, type Clock, type Log } from "../../kernel/index.ts";
import { drain, readBody } from "../bindings/body.ts";
import { sendJson } from "../bindings/http.ts";
import { createTtlCache } from "../bindings/recently-seen.ts";
import type { BindingServices } from "../bindings/service.ts";
import { queueErrors } from "./errors.ts";
import { queueLimits } from "./limits.ts";
import type { NewMessage, Queue, QueueContentType, QueueMessages, QueueMetrics, Queues } from "./port.ts";

interface QueueServiceDeps {
  queues: Pick<Queues, "byName" | "ensure">;
  messages: Pick<QueueMessages, "send" | "metrics">;
  /** Creates queues on first use, as in `reelpost dev`. */
  creates: boolean;
  clock: Clock;
  log: Log;
}

/**
 * Maximum size of a batch request, which is JSON with bodies in base64. The limits on messages are checked after
 * parsing.
 */
const MAX_BATCH_REQUEST_BYTES = 2 * queueLimits.batchBytes + 64 * 1024;
const MAX_DRAIN_BYTES = 16 * 1024 * 1024;
const CONTENT_TYPES = ["text", "json", "bytes", "v8"];

/**
 * Creates the server side of `env.QUEUE`, in the protocol of workerd:
 * https://github.com/cloudflare/workerd/blob/main/src/workerd/api/queue.c++
 */
export function createQueueService({
  queues,
  messages,
  creates,
  clock,
  log,
}: QueueServiceDeps): BindingServices["queue"] {
  const queueCache = createTtlCache<Queue>(clock);

  async function queueOf(account: string, name: string): Promise<Queue> {
    const key = `${account}/${name}`;
    const cached = queueCache.get(key);
    if (cached !== undefined) return cached;
    const foundQueue = creates ? await queues.ensure(account, name) : await queues.byName(account, name);
    if (foundQueue === undefined) throw queueErrors.queueMissing({ queue: name });
    queueCache.add(key, foundQueue);
    return foundQueue;
  }

  async function handleOperation(request: IncomingMessage, queue: Queue, delay: number | undefined): Promise<unknown> {
    const operation = `${request.method} ${new URL(request.url ?? "/", "http://queue").pathname}`;
    switch (operation) {
      case "GET /metrics":
        return toMetricsResponse(await messages.metrics(queue));
      case "POST /message":
        return {
          metadata: { metrics: toMetricsResponse(await messages.send(queue, [await readMessage(request, delay)])) },
        };
      case "POST /batch":
        return {
          metadata: { metrics: toMetricsResponse(await messages.send(queue, await readBatch(request, delay))) },
        };
      default:
        throw queueErrors.badMessage({ reason: `${operation} is unknown`, fix: "Update the server." });
    }
  }

  return {
    async handle(request, response, { script, binding }) {
      try {
        const queue = await queueOf(script.account ?? "", binding.queue_name);
        sendJson(response, 200, await handleOperation(request, queue, binding.delivery_delay));
      } catch (err) {
        if (!(err instanceof UserError))
          log.error({ err, script: script.name, queue: binding.queue_name }, "queues: failed to store messages");
        await sendQueueError(request, response, err);
      }
    },
  };
}

/** Sends an error. workerd throws an Error with the reason phrase as its message. */
async function sendQueueError(request: IncomingMessage, response: ServerResponse, err: unknown): Promise<void> {
  if (response.headersSent) return void response.destroy();
  await drain(request, MAX_DRAIN_BYTES);
  const [status, text, code] =
    err instanceof UserError ? [err.entry.http, err.message, err.code] : [500, "Internal Server Error", 10001];
  // A reason phrase is restricted to printable ASCII characters here (RFC 9112 4 allows few others).
  const phrase = text.replaceAll(/[^ -~]+/g, " ").slice(0, 500);
  response.writeHead(status, phrase, {
    "content-length": 0,
    "cf-queues-error-code": String(code),
    "cf-queues-error-cause": phrase,
  });
  response.end();
}

async function readMessage(request: IncomingMessage, delay: number | undefined): Promise<NewMessage> {
  const { messageBytes: limit } = queueLimits;
  const contentType = contentTypeOf(request.headers["x-msg-fmt"]);
  const headerDelay = request.headers["x-msg-delay-secs"];
  const body = await readBody(request, limit);
  if (body === undefined)
    throw queueErrors.messageTooLarge({ size: request.headers["content-length"] ?? `more than ${limit}`, limit });
  return { contentType, body, delay: headerDelay === undefined ? delay : Number(headerDelay) };
}

async function readBatch(request: IncomingMessage, delay: number | undefined): Promise<NewMessage[]> {
  const { batchBytes: limit } = queueLimits;
  const headerDelay = request.headers["x-msg-delay-secs"];
  const count = Number(request.headers["cf-queue-batch-count"] ?? 0);
  if (count > queueLimits.batchMessages) throw queueErrors.tooManyMessages({ count, limit: queueLimits.batchMessages });
  const body = await readBody(request, MAX_BATCH_REQUEST_BYTES);
  if (body === undefined)
    throw queueErrors.batchTooLarge({ size: request.headers["cf-queue-batch-bytes"] ?? `more than ${limit}`, limit });
  const { messages } = JSON.parse(body.toString("utf8")) as { messages: WireMessage[] };
  return messages.map((message) => ({
    contentType: contentTypeOf(message.contentType),
    body: Buffer.from(message.body, "base64"),
    delay: message.delaySecs ?? (headerDelay === undefined ? delay : Number(headerDelay)),
  }));
}

interface WireMessage {
  body: string;
  contentType?: string;
  delaySecs?: number;
}

/** Returns the content type of a message; workerd sends v8 values without one. */
function contentTypeOf(sent: unknown): QueueContentType {
  if (sent === undefined) return "v8";
  if (typeof sent === "string" && CONTENT_TYPES.includes(sent)) return sent as QueueContentType;
  throw queueErrors.badContentType({ type: JSON.stringify(sent) });
}

const toMetricsResponse = ({ backlogCount, backlogBytes, oldestMessage }: QueueMetrics) => ({
  backlogCount,
  backlogBytes,
  oldestMessageTimestamp: oldestMessage?.getTime() ?? 0,
});
