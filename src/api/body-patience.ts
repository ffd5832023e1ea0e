import type { IncomingMessage } from "node:http";

/** A client that sends fewer bytes than this within `idleMs` is stalled. */
const MIN_OCTETS = 1024;

/**
 * Closes the connection of a request whose body has stalled, because nothing else would end the request. Time during
 * which received data waits for the server does not count.
 */
export function cutIdleBody(request: IncomingMessage, idleMs: number, minOctets = MIN_OCTETS): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  let bytesBefore = socket.bytesRead;
  const timer = setInterval(() => {
    if (request.complete) return stop();
    const receivedBytes = socket.bytesRead - bytesBefore;
    bytesBefore = socket.bytesRead;
    if (receivedBytes < minOctets && request.readableLength === 0) socket.destroy();
  }, idleMs).unref();
  const stop = () => clearInterval(timer);
  request.once("end", stop).once("close", stop);
}
