// The batch that a queue handler receives, and the function that runs the handler.
import { answerWith, trackActivity, runHandler } from "./message.ts";
import type { QueueVerdict, WireBatch } from "./shared.ts";
import { readV8Value } from "./v8-value.ts";

interface RetryOptions {
  delaySeconds?: number;
}

/** The first decision about a message, or about the batch, is final. */
interface Decisions {
  all?: { ack: true } | { retry: RetryOptions };
  each: Map<string, { ack: true } | { retry: RetryOptions }>;
}

class QueueMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: unknown;
  #decisions: Decisions;

  constructor({ id, timestamp, attempts }: WireBatch["messages"][number], body: unknown, decisions: Decisions) {
    this.id = id;
    this.timestamp = new Date(timestamp);
    this.attempts = attempts;
    this.body = body;
    this.#decisions = decisions;
  }

  retry(options?: RetryOptions): void {
    this.#decide({ retry: checkRetryOptions(options) });
  }

  ack(): void {
    this.#decide({ ack: true });
  }

  #decide(decision: { ack: true } | { retry: RetryOptions }): void {
    if (!this.#decisions.each.has(this.id)) this.#decisions.each.set(this.id, decision);
  }
}

class MessageBatch {
  readonly queue: string;
  readonly messages: readonly QueueMessage[];
  readonly metadata: { metrics: { backlogCount: number; backlogBytes: number; oldestMessageTimestamp?: Date } };
  #decisions: Decisions;

  constructor({ queue, metrics }: WireBatch, messages: QueueMessage[], decisions: Decisions) {
    const { oldestMessage, ...counts } = metrics;
    this.queue = queue;
    this.messages = Object.freeze(messages);
    this.metadata = {
      metrics: { ...counts, ...(oldestMessage !== undefined && { oldestMessageTimestamp: new Date(oldestMessage) }) },
    };
    this.#decisions = decisions;
  }

  retryAll(options?: RetryOptions): void {
    this.#decisions.all ??= { retry: checkRetryOptions(options) };
  }

  ackAll(): void {
    this.#decisions.all ??= { ack: true };
  }
}

const MAX_DELAY_SECONDS = 86_400;

function checkRetryOptions(options: RetryOptions | undefined): RetryOptions {
  const delay = options?.delaySeconds;
  if (delay === undefined) return {};
  if (!(Number.isInteger(delay) && delay >= 0 && delay <= MAX_DELAY_SECONDS))
    throw new TypeError(`delaySeconds is ${delay}; use a whole number from 0 to ${MAX_DELAY_SECONDS}`);
  return { delaySeconds: delay };
}

function bodyOf(contentType: string, bytes: Uint8Array<ArrayBuffer>): unknown {
  switch (contentType) {
    case "json":
      return JSON.parse(new TextDecoder().decode(bytes));
    case "text":
      return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
    case "v8":
      return readV8Value(bytes);
    default:
      return bytes.buffer;
  }
}

function decodeBatch(body: ArrayBuffer, decisions: Decisions): MessageBatch {
  const length = new DataView(body).getUint32(0);
  const batch = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, length))) as WireBatch;
  let at = 4 + length;
  const messages = batch.messages.map((message) => {
    const bytes = new Uint8Array(body.slice(at, (at += message.size)));
    return new QueueMessage(message, bodyOf(message.contentType, bytes), decisions);
  });
  return new MessageBatch(batch, messages, decisions);
}

function verdictOf({ all, each }: Decisions): QueueVerdict {
  const verdict: QueueVerdict = { ackAll: false, acks: [], retries: [] };
  if (all !== undefined && "ack" in all) verdict.ackAll = true;
  else if (all !== undefined) verdict.retryAll = all.retry;
  for (const [id, decision] of each) {
    if ("ack" in decision) verdict.acks.push(id);
    else verdict.retries.push({ id, ...decision.retry });
  }
  return verdict;
}

/** Runs the handler for one batch and waits for its waitUntil() work. Responds with the outcome and the decisions. */
export async function dispatchQueue(
  request: Request,
  context: ExecutionContext,
  handle: (batch: MessageBatch) => unknown,
  { alwaysTail = false } = {},
): Promise<Response> {
  const body = await request.arrayBuffer();
  const decisions: Decisions = { each: new Map() };
  const work: Promise<unknown>[] = [];
  const activityCount = trackActivity(context, (promise) => void work.push(promise));
  const answer = await runHandler(async () => {
    await handle(decodeBatch(body, decisions));
    // A failure of waitUntil() work fails the batch.
    while (work.length > 0) await Promise.all(work.splice(0));
  });
  while (work.length > 0) await Promise.allSettled(work.splice(0));
  return answerWith({ ...answer, ...verdictOf(decisions) }, activityCount, alwaysTail);
}

export const NO_QUEUE_HANDLER = "Handler does not export a queue() function";
