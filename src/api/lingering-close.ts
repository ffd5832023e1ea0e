import type { IncomingMessage } from "node:http";

export interface LingerOptions {
  /**
   * Time and byte limits for draining a client that keeps sending. Default 30 s, 256 MiB: more than the largest chunk
   * of an upload.
   */
  ms?: number;
  octets?: number;
}

/**
 * Closing a connection while the client is sending resets it, and the client may never read the response (RFC 9112
 * 9.6). So after an early response the rest of the request is drained before the connection closes.
 */
export function lingerBeforeClose(
  request: IncomingMessage,
  { ms = 30_000, octets = 256 * 1024 * 1024 }: LingerOptions = {},
): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  const { destroySoon } = socket;
  let timer: NodeJS.Timeout | undefined;

  const close = () => {
    clearTimeout(timer);
    socket.destroySoon = destroySoon;
    socket.destroySoon();
  };
  // Node calls this after the last response on a connection, and so does other code that closes a socket gracefully.
  socket.destroySoon = () => {
    if (timer !== undefined) return;
    if (request.complete || socket.destroyed) return close();
    const maxBytesRead = socket.bytesRead + octets;
    timer = setTimeout(close, ms).unref();
    request.once("end", close).on("data", () => {
      if (socket.bytesRead > maxBytesRead) close();
    });
    request.resume();
  };
  request.once("end", () => {
    if (timer === undefined) socket.destroySoon = destroySoon;
  });
}
