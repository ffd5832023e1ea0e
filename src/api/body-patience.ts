import type { IncomingMessage } from "node:http";

/** A client that sends fewer bytes than this within `idleMs` counts as stalled. */
const MIN_OCTETS = 1024;

/**
 * Cuts a connection whose body has stopped arriving: what came of it is held, and nothing else ever ends it. As long as what has come waits for us,
 * the client is not at fault.
 */
export function cutIdleBody(request: IncomingMessage, idleMs: number, minOctets = MIN_OCTETS): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  let seen = socket.bytesRead;
  const timer = setInterval(() => {
    if (request.complete) return stop();
    const came = socket.bytesRead - seen;
    seen = socket.bytesRead;
    if (came < minOctets && request.readableLength === 0) socket.destroy();
  }, idleMs).unref();
  const stop = () => clearInterval(timer);
  request.once("end", stop).once("close", stop);
}
