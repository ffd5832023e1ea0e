/**
 * Names both sides of the wall agree on: the server (Node) and the code it puts inside workerd.
 * This folder is compiled for workerd; nothing in it may use Node.
 */

/** Where an `EmailMessage` keeps its bytes. A plain property, so that the message can cross an RPC boundary. */
export const RAW = "EmailMessage::raw";

/** The host name that the egress proxy keeps for itself: a live message's actions are asked for there. */
export const ACTIONS_HOST = "actions.reelpost.internal";

/** Describes the message that a request carries: as JSON, or with the word that says the JSON is the body. */
export const META_HEADER = "x-reelpost-meta";
export const META_IN_BODY = "body";

/** What the mail socket is asked for, when it is not to handle a message. */
export const EVENT_HEADER = "x-reelpost-event";
export type AskedEvent = "scheduled" | "handlers";

/** Names the invocation. The tail worker tells messages from requests by it. */
export const DISPATCH_HEADER = "x-reelpost-dispatch";

/** A log line that only makes the tail speak; the server takes it out again. */
export const TAIL_MARK = "reelpost:tail";

/** The binding by which a script in service-worker format is run; it is gone before the script sees its bindings. */
export const RUN_SCRIPT = "__reelpost_run_script";

export type WireAttachment = { content?: unknown } & Record<string, unknown>;

/** Makes a builder message fit for JSON: binary attachment content becomes `{ base64 }`. */
export function encodeBuilder(mail: unknown): string {
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
  if (content instanceof ArrayBuffer) return { ...attachment, content: { base64: base64(new Uint8Array(content)) } };
  if (ArrayBuffer.isView(content))
    return {
      ...attachment,
      content: { base64: base64(new Uint8Array(content.buffer, content.byteOffset, content.byteLength)) },
    };
  return attachment;
}

function base64(bytes: Uint8Array): string {
  // btoa() takes a string of bytes; slices keep String.fromCharCode within the argument limit, and 3 divides the slice so that no padding appears inside.
  const slice = 3 * 8192;
  let out = "";
  for (let at = 0; at < bytes.length; at += slice) out += btoa(String.fromCharCode(...bytes.subarray(at, at + slice)));
  return out;
}

/** The server answers `{ error, code? }` for a refusal; the worker sees it as a thrown Error with that message and code. */
export async function resultOf(response: Response): Promise<{ messageId: string }> {
  const body = (await response.json()) as { messageId: string; error?: string; code?: string | number };
  if (response.ok) return { messageId: body.messageId };
  const error = new Error(body.error ?? `unexpected status ${response.status}`);
  if (body.code !== undefined) Object.assign(error, { code: body.code });
  throw error;
}
