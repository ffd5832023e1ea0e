import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { messageOf } from "../../kernel/index.ts";
import { createHttpClient, type ClientResponse as RawAnswer } from "./http-client.ts";
import {
  DISPATCH_HEADER,
  EVENT_HEADER,
  META_HEADER,
  META_IN_BODY,
  type QueueVerdict,
  type RequestedEvent,
  type WireBatch,
} from "./inside/shared.ts";
import type { EmailOutcome, InboundMail, QueueBatch, WorkerExports } from "./port.ts";

/** The response of the mail entrypoint. */
export type DispatchResult = Omit<EmailOutcome, "ended" | "waitUntilSettled"> & {
  /** waitUntil() was called. */
  pending?: boolean;
  /** Nothing was logged and nothing is still running, so no tail will follow. */
  silent?: boolean;
};

/** The verdict is missing if the handler was interrupted. */
export type QueueResult = DispatchResult & Partial<QueueVerdict>;

export interface DispatchClient {
  /**
   * Rejects if no response arrives because the process died or closed the connection. Resolves with undefined after
   * `wallMs`.
   */
  send(id: string, token: string, mail: InboundMail, wallMs: number): Promise<DispatchResult | undefined>;
  /** Like send(), for the scheduled handler, including its waitUntil() work. */
  scheduled(
    id: string,
    event: { cron: string; scheduledTime: Date },
    wallMs: number,
  ): Promise<DispatchResult | undefined>;
  /** Like scheduled(), for the queue handler. */
  queue(id: string, batch: QueueBatch, wallMs: number): Promise<QueueResult | undefined>;
  /** Like scheduled(), for the tail handler; `items` is the JSON text in TailBatch. */
  tail(id: string, items: string, wallMs: number): Promise<DispatchResult | undefined>;
  readExports(wallMs: number): Promise<WorkerExports>;
  close(): void;
}

/**
 * A message up to this many bytes is sent with its dispatch; the worker fetches a longer one. workerd reads up to 64
 * KiB of an unread body and otherwise closes the connection; short messages must remain below that.
 */
const MAX_INLINE_MESSAGE_BYTES = 48 * 1024;

/** JSON in ASCII, safe for a header. */
const asciiJson = (value: unknown) =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Client for the mail socket of one worker process. */
export function createDispatchClient({
  socketPath,
  concurrency,
}: {
  socketPath: string;
  concurrency: number;
}): DispatchClient {
  const client = createHttpClient({ socketPath, maxConnections: concurrency });

  async function exchange<Read>(
    headers: Record<string, string>,
    body: Uint8Array,
    wallMs: number,
    read: (answer: RawAnswer) => Read,
  ): Promise<Read | undefined> {
    const postedRequest = client.post(headers, body);
    const timeoutError = new Error("the wall time limit has passed");
    const timer = setTimeout(() => postedRequest.abandon(timeoutError), wallMs);
    try {
      return read(await postedRequest.answer);
    } catch (err) {
      if (err === timeoutError) return undefined;
      throw err;
    } finally {
      clearTimeout(timer);
    }
  }
  const eventHeaders = (event: RequestedEvent) => ({ [EVENT_HEADER]: event });

  return {
    async send(id, token, mail, wallMs) {
      const meta = asciiJson({
        token,
        from: mail.from,
        to: mail.to,
        rawSize: mail.rawSize,
        headers: mail.headers,
        canBeForwarded: mail.canBeForwarded,
      });
      const isInline = mail.rawSize + meta.length <= MAX_INLINE_MESSAGE_BYTES;
      const body = isInline ? await bytesOf(mail.raw()) : Buffer.from(meta, "latin1");
      return exchange(
        { [DISPATCH_HEADER]: id, [META_HEADER]: isInline ? meta : META_IN_BODY },
        body,
        wallMs,
        readOutcome,
      );
    },
    scheduled(id, { cron, scheduledTime }, wallMs) {
      const meta = asciiJson({ cron, scheduledTime: scheduledTime.getTime() });
      return exchange(
        { [DISPATCH_HEADER]: id, ...eventHeaders("scheduled"), [META_HEADER]: meta },
        NO_BODY,
        wallMs,
        readOutcome,
      );
    },
    queue(id, batch, wallMs) {
      return exchange({ [DISPATCH_HEADER]: id, ...eventHeaders("queue") }, encodeBatch(batch), wallMs, readOutcome);
    },
    tail(id, items, wallMs) {
      return exchange({ [DISPATCH_HEADER]: id, ...eventHeaders("tail") }, Buffer.from(items), wallMs, readOutcome);
    },
    async readExports(wallMs) {
      const workerExports = await exchange(eventHeaders("handlers"), NO_BODY, wallMs, (answer) =>
        readJson<WorkerExports>(answer),
      );
      if (workerExports === undefined) throw new Error(`no response within ${wallMs} ms`);
      return workerExports;
    },
    close: () => client.close(),
  };
}

const bytesOf = async (raw: Readable | Uint8Array): Promise<Uint8Array> =>
  raw instanceof Readable ? buffer(raw) : raw;

const NO_BODY = new Uint8Array();

/** Encodes a batch as described at WireBatch. */
function encodeBatch({ queue, messages, metrics: { oldestMessage, ...counts } }: QueueBatch): Uint8Array {
  const wire: WireBatch = {
    queue,
    messages: messages.map(({ id, sentAt, attempts, contentType, body }) => ({
      id,
      timestamp: sentAt.getTime(),
      attempts,
      contentType,
      size: body.length,
    })),
    metrics: { ...counts, ...(oldestMessage !== undefined && { oldestMessage: oldestMessage.getTime() }) },
  };
  const json = Buffer.from(JSON.stringify(wire));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json, ...messages.map(({ body }) => body)]);
}

/**
 * A response without a body is a silent success (see answerWith). workerd's own 500 has no details; the reason follows
 * with the tail.
 */
function readOutcome(answer: RawAnswer): DispatchResult {
  if (answer.status !== 200) return { outcome: "exception" };
  return answer.body === "" ? { outcome: "ok", silent: true } : readJson<DispatchResult>(answer);
}

function readJson<Read>({ body }: RawAnswer): Read {
  try {
    return JSON.parse(body) as Read;
  } catch (err) {
    throw new Error(`invalid response from the worker: ${messageOf(err)}`, { cause: err });
  }
}
