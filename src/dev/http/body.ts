import type { IncomingMessage } from "node:http";

/** The client disconnected before the body was complete, so no response is possible. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Returns the declared length, or undefined for a chunked body. */
export function declaredLength(request: IncomingMessage): number | undefined {
  const header = request.headers["content-length"];
  return header === undefined ? (request.headers["transfer-encoding"] === undefined ? 0 : undefined) : Number(header);
}

/** Reads a small body of known length without a stream: most messages take this path. */
export function readSmallBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.on("error", (cause) => reject(new ClientGone("the client disconnected", { cause })));
    request.on("close", () => {
      if (!request.complete) reject(new ClientGone("the client disconnected"));
    });
  });
}

/**
 * After an early rejection the client may still be sending. Drains a limited amount, so that the client can read the
 * response (RFC 9112 9.6), then closes.
 */
export function dropRest(request: IncomingMessage, maxBytes = 64 * 1024 * 1024, maxMs = 5000): void {
  if (request.complete) return;
  let receivedBytes = 0;
  const timer = setTimeout(() => request.destroy(), maxMs);
  timer.unref();
  request.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length;
    if (receivedBytes > maxBytes) request.destroy();
  });
  request.on("error", () => {});
  request.on("close", () => clearTimeout(timer));
  request.resume();
}
