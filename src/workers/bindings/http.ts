import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";

/** Small helpers for the services that workerd speaks to over a unix socket. */

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new BodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
}

export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`the body exceeds ${maxBytes} bytes`);
  }
}

export const readJson = async (request: IncomingMessage, maxBytes: number): Promise<unknown> => JSON.parse((await readBody(request, maxBytes)).toString("utf8"));

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

/** A refusal keeps its text and code; what is our fault is not told to the worker. */
export function sendError(response: ServerResponse, err: unknown): void {
  if (response.headersSent) return void response.destroy();
  if (err instanceof UserError) return sendJson(response, err.entry.http, { error: err.message, code: err.code });
  if (err instanceof BodyTooLarge) return sendJson(response, 413, { error: err.message, code: "E_CONTENT_TOO_LARGE" });
  sendJson(response, 500, { error: "internal error", code: "E_INTERNAL_SERVER_ERROR" });
}
