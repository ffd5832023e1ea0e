/**
 * Names shared by the server (Node) and its code inside workerd. This folder is compiled for workerd; it must not use
 * Node.
 */

/**
 * The property that holds the bytes of an `EmailMessage`. A plain property, so that the message can cross an RPC
 * boundary.
 */
export const RAW = "EmailMessage::raw";

/** The host name reserved by the egress proxy: it receives the actions of a live message. */
export const ACTIONS_HOST = "actions.reelpost.internal";

/**
 * All headers with this prefix belong to the server: a client, or another worker, cannot send one to a worker.
 */
export const INTERNAL_HEADER_PREFIX = "x-reelpost-";

/** The entrypoint that receives messages, scheduled events, batches and trace items. */
export const MAIL_ENTRYPOINT = "ReelpostMail";

/** Describes the message of a request: as JSON, or with the value which indicates that the JSON is in the body. */
export const META_HEADER = "x-reelpost-meta";
export const META_IN_BODY = "body";

/** Selects an operation of the mail socket other than handling a message. */
export const EVENT_HEADER = "x-reelpost-event";
export type RequestedEvent = "scheduled" | "queue" | "tail" | "handlers";

/** Id of the invocation. The tail worker uses it to distinguish messages from requests. */
export const DISPATCH_HEADER = "x-reelpost-dispatch";

/** The `executionModel` of a trace item for an event of a Durable Object. */
export const OBJECT_MODEL = "durableObject";

/** A log line that only triggers the tail; the server removes it. */
export const TAIL_MARK = "reelpost:tail";

/** Identifies the Durable Object that a request from another worker is for: ObjectAddress as percent-encoded JSON. */
export const OBJECT_HEADER = "x-reelpost-object";
export interface ObjectAddress {
  /** 32 hex digits; empty if unknown. */
  namespaceId: string;
  className: string;
  /** 64 hex digits. */
  id: string;
  /** The name from which the id was derived. */
  name?: string | undefined;
}

/** The binding that runs a script in service-worker format; removed before the script sees its bindings. */
export const RUN_SCRIPT = "__reelpost_run_script";

/**
 * Describes a batch of queue messages. The body of the request is the length of this JSON in four bytes (big-endian),
 * the JSON itself, and the concatenated message bodies.
 */
export interface WireBatch {
  queue: string;
  /** Times in epoch milliseconds, sizes in bytes. */
  messages: { id: string; timestamp: number; attempts: number; contentType: string; size: number }[];
  metrics: { backlogCount: number; backlogBytes: number; oldestMessage?: number };
}

/** A trace item as JSON. For a request, `unredacted` contains the values that getUnredacted() returns. */
export type WireTraceItem = { event: object | null } & object & {
    unredacted?: { url: string; headers: Record<string, string> };
  };

/** The decisions of a queue handler. `acks` and `retries` contain message ids; delays are in seconds. */
export interface QueueVerdict {
  ackAll: boolean;
  retryAll?: { delaySeconds?: number };
  acks: string[];
  retries: { id: string; delaySeconds?: number }[];
}

export type WireAttachment = { content?: unknown } & Record<string, unknown>;

/** Makes a builder message serializable as JSON: binary attachment content becomes `{ base64 }`. */
export function encodeMessageBuilder(mail: unknown): string {
  if (typeof mail !== "object" || mail === null)
    throw new TypeError("Expected an EmailMessage or a message builder object");
  const { attachments, ...rest } = mail as { attachments?: unknown };
  return JSON.stringify({
    ...rest,
    attachments: Array.isArray(attachments) ? attachments.map(encodeAttachment) : attachments,
  });
}

function encodeAttachment(attachment: unknown): unknown {
  if (typeof attachment !== "object" || attachment === null) return attachment;
  const { content } = attachment as WireAttachment;
  if (content instanceof ArrayBuffer) return { ...attachment, content: { base64: toBase64(new Uint8Array(content)) } };
  if (ArrayBuffer.isView(content))
    return {
      ...attachment,
      content: { base64: toBase64(new Uint8Array(content.buffer, content.byteOffset, content.byteLength)) },
    };
  return attachment;
}

function toBase64(bytes: Uint8Array): string {
  // btoa() takes a binary string; slices keep String.fromCharCode within the argument limit, and a multiple of 3 avoids
  // padding in the middle.
  const sliceLength = 3 * 8192;
  let out = "";
  for (let at = 0; at < bytes.length; at += sliceLength)
    out += btoa(String.fromCharCode(...bytes.subarray(at, at + sliceLength)));
  return out;
}

/** On errors the server returns `{ error, code? }`; the worker receives an Error with that message and code. */
export async function resultOf(response: Response): Promise<{ messageId: string }> {
  const body = (await response.json()) as { messageId: string; error?: string; code?: string | number };
  if (response.ok) return { messageId: body.messageId };
  const error = new Error(body.error ?? `unexpected status ${response.status}`);
  if (body.code !== undefined) Object.assign(error, { code: body.code });
  throw error;
}
