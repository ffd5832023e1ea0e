import type { IncomingMessage } from "node:http";

/** Maximum bytes to read and discard; more than the largest chunk. */
const MAX_DISCARDED_BYTES = 256 * 1024 * 1024;

/**
 * Yields the body of a request up to its end. Also ends, without an error, when the connection is lost or `signal`
 * aborts, so that all data that arrived before is stored. Unlike the stream's own iterator, it leaves the request open
 * when its reader stops early: the connection is needed for the response.
 */
export async function* receivedBody(request: IncomingMessage, signal?: AbortSignal): AsyncGenerator<Buffer> {
  let wake = () => {};
  const wakeReader = () => wake();
  const events = ["readable", "end", "error", "close"];
  for (const event of events) request.on(event, wakeReader);
  signal?.addEventListener("abort", wakeReader);
  try {
    for (;;) {
      if (signal?.aborted === true) return;
      const piece = request.read() as Buffer | null;
      if (piece !== null) yield piece;
      else if (request.readableEnded || request.destroyed) return;
      else await new Promise<void>((resolve) => void (wake = resolve));
    }
  } finally {
    for (const event of events) request.off(event, wakeReader);
    signal?.removeEventListener("abort", wakeReader);
  }
}

/**
 * Reads and discards the rest of a body: a client whose connection is closed while it sends may never see the response.
 * Closes the connection beyond `maxBytes`. While the response has not ended, resolves when the body has ended or the
 * connection is closed.
 */
export function discardBody(request: IncomingMessage, maxBytes = MAX_DISCARDED_BYTES): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let octets = 0;
    request
      .on("error", () => {})
      .once("end", resolve)
      .once("close", resolve)
      .on("data", (piece: Buffer) => {
        octets += piece.length;
        if (octets > maxBytes) request.socket.destroy();
      });
  });
}
