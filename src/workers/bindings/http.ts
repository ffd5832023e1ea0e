import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { drain, readBody } from "./body.ts";

/** Helpers for the internal services that exchange JSON with the code inside workerd. */

export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`the body exceeds ${maxBytes} bytes`);
  }
}

/** Throws BodyTooLarge for a larger body, after reading it to the end. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const body = await readBody(request, maxBytes);
  if (body === undefined) throw new BodyTooLarge(maxBytes);
  return JSON.parse(body.toString("utf8"));
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

/** Twice the longest message: if a client sends more after a rejection, its connection is closed. */
const DRAIN_LIMIT = 50 * 1024 * 1024;

/**
 * Sends a UserError with its message and code; hides the details of internal errors from the worker. The response is
 * sent after the request has been read, see drain().
 */
export async function sendBindingError(
  request: IncomingMessage,
  response: ServerResponse,
  err: unknown,
): Promise<void> {
  if (response.headersSent) return void response.destroy();
  await drain(request, DRAIN_LIMIT);
  if (err instanceof UserError) return sendJson(response, err.entry.http, { error: err.message, code: err.code });
  if (err instanceof BodyTooLarge) return sendJson(response, 413, { error: err.message, code: "E_CONTENT_TOO_LARGE" });
  sendJson(response, 500, { error: "internal error", code: "E_INTERNAL_SERVER_ERROR" });
}
