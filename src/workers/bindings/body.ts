import type { IncomingMessage } from "node:http";

/**
 * Returns the whole body, or undefined if it exceeds `maxBytes`. It is read to the end in both cases: a client that is
 * still sending would see a broken connection instead of the response. Rejects if the client disconnects first.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  // Uses plain events: an async iterator costs several event loop turns for a body that has mostly arrived already.
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    request
      .on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length <= maxBytes) chunks.push(chunk);
        else chunks = [];
      })
      .once("end", () =>
        resolve(length > maxBytes ? undefined : chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
      )
      .once("error", reject);
  });
}

/**
 * Reads and discards the rest of a request that will be rejected: workerd writes the whole request before it reads a
 * response, and treats an earlier response as a broken connection. Resolves at the end of the body; if the client sends
 * more than `maxBytes`, the connection is closed instead.
 */
export function drain(request: IncomingMessage, maxBytes: number): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let length = 0;
    // An async iterator that was abandoned early leaves its listener attached, and a stream with that listener does not
    // flow.
    request.removeAllListeners("readable");
    request
      .on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBytes) request.destroy();
      })
      .once("close", resolve)
      .once("end", resolve)
      .on("error", () => {}) // The connection was closed; `close` follows.
      .resume();
  });
}
