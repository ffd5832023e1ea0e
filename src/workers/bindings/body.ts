import type { IncomingMessage } from "node:http";

/**
 * The whole body, or undefined when it exceeds `maxBytes`. It is read to its end in both cases: a client that is still sending
 * would see a broken connection instead of the answer. Rejects when the client goes away first.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  // Plain events: an async iterator costs several turns of the loop for a body that is mostly here already.
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
 * Reads and forgets what is left of a request that is to be refused: workerd writes all it has before it looks at an answer, and takes one
 * that comes earlier for a broken connection. Resolves at the end; somebody who sends more than `maxBytes` loses the connection instead.
 */
export function drain(request: IncomingMessage, maxBytes: number): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let length = 0;
    // An async iterator that was left early still listens, and a stream that is listened to that way does not flow.
    request.removeAllListeners("readable");
    request
      .on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBytes) request.destroy();
      })
      .once("close", resolve)
      .once("end", resolve)
      .on("error", () => {}) // a closed connection; `close` follows
      .resume();
  });
}
