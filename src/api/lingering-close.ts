import type { IncomingMessage } from "node:http";

export interface LingerOptions {
  /** How long, and for how many octets, a client that sends on is waited for. Default 30 s, 256 MiB: more than the largest piece of an upload. */
  ms?: number;
  octets?: number;
}

/**
 * A connection that is closed while its client still sends is reset by the system, and the client may never read why it was refused (RFC 9112 9.6). So
 * whoever wants it closed behind an early answer is kept waiting until the rest of the request has come and been thrown away.
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
  // Node calls it behind the last answer of a connection; it is what everybody else calls who knows of this.
  socket.destroySoon = () => {
    if (timer !== undefined) return;
    if (request.complete || socket.destroyed) return close();
    const most = socket.bytesRead + octets;
    timer = setTimeout(close, ms).unref();
    request.once("end", close).on("data", () => {
      if (socket.bytesRead > most) close();
    });
    request.resume();
  };
  request.once("end", () => {
    if (timer === undefined) socket.destroySoon = destroySoon;
  });
}
