import type { IncomingMessage } from "node:http";

/** Fewer octets than this in `idleMs` is nobody who is sending. */
const LEAST = 1024;

/**
 * Cuts a connection whose body has stopped arriving: what came of it is held, and nothing else ever ends it. As long as what has come waits for us,
 * the client is not at fault.
 */
export function cutIdleBody(request: IncomingMessage, idleMs: number): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  let seen = socket.bytesRead;
  const timer = setInterval(() => {
    if (request.complete) return stop();
    const came = socket.bytesRead - seen;
    seen = socket.bytesRead;
    if (came < LEAST && request.readableLength === 0) socket.destroy();
  }, idleMs).unref();
  const stop = () => clearInterval(timer);
  request.once("end", stop).once("close", stop);
}
