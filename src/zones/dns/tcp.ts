import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Log } from "../../kernel/index.ts";
import { rateLimitNetwork } from "./rate-limit.ts";
import type { Respond } from "./respond.ts";

export interface TcpBounds {
  /** Maximum number of connections; a new one closes the one idle for longest. */
  connections?: number;
  /** Maximum number of connections per network (IPv4 /24, IPv6 /56). */
  perNetwork?: number;
  /** RFC 7766 6.2.3: idle timeout, also the time limit for one message. */
  idleMs?: number;
}

/** A query has a name of at most 255 octets and an OPT record; anything longer is not a query. */
const MAX_QUERY_BYTES = 4096;
/**
 * Maximum number of queries in progress per connection (RFC 7766 6.2.1.1): reading pauses until one of them has been
 * answered.
 */
const MAX_PIPELINED_QUERIES = 32;
/** Maximum number of octets waiting to be sent. */
const MAX_UNSENT_BYTES = 256 * 1024;

export interface TcpListener {
  server: Server;
  close(): Promise<void>;
}

export async function listenTcp(
  { respond, log, bounds = {} }: { respond: Respond; log: Log; bounds?: TcpBounds | undefined },
  host: string,
  port: number,
): Promise<TcpListener> {
  const { connections = 300, perNetwork = 50, idleMs = 10_000 } = bounds;
  // Ordered by last activity, oldest first.
  const openSockets = new Map<Socket, string>();

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const network = socket.remoteAddress === undefined ? "" : rateLimitNetwork(socket.remoteAddress);
    if (network === "" || countOf(network) >= perNetwork) return socket.destroy();
    if (openSockets.size >= connections) openSockets.keys().next().value!.destroy();
    openSockets.set(socket, network);
    socket.on("close", () => openSockets.delete(socket));
    socket.on("error", () => socket.destroy());
    handleSocket(socket, {
      respond,
      idleMs,
      onMessage: () => void (openSockets.delete(socket) && openSockets.set(socket, network)),
    });
  });
  const countOf = (network: string) => {
    let count = 0;
    for (const other of openSockets.values()) if (other === network) count++;
    return count;
  };

  server.listen(port, host);
  await once(server, "listening");
  server.on("error", (err) => log.warn({ err }, "dns: TCP listener failed"));
  return {
    server,
    async close() {
      const closePromise = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of openSockets.keys()) socket.destroy();
      await closePromise;
    },
  };
}

/** Length-prefixed messages (RFC 1035 4.2.2), answered in the order that answers become ready. */
function handleSocket(
  socket: Socket,
  { respond, idleMs, onMessage }: { respond: Respond; idleMs: number; onMessage: () => void },
): void {
  let buffered: Buffer = Buffer.alloc(0);
  let pendingCount = 0;
  let hasEnded = false;
  // Only complete queries keep a connection open.
  const timer = setTimeout(() => socket.destroy(), idleMs).unref();
  socket.on("close", () => clearTimeout(timer));

  async function serve(message: Buffer) {
    pendingCount++;
    try {
      const reply = await respond(message, "tcp");
      // The message is not a query: resolvers do not send such messages.
      if (reply === undefined) return socket.destroy();
      if (socket.destroyed) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([length, reply]));
      if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
    } finally {
      pendingCount--;
      if (socket.isPaused() && !socket.destroyed) socket.resume();
      readMessages();
    }
  }

  function readMessages() {
    while (pendingCount < MAX_PIPELINED_QUERIES && buffered.length >= 2 && !socket.destroyed) {
      const length = buffered.readUInt16BE(0);
      if (length < 12 || length > MAX_QUERY_BYTES) return socket.destroy();
      if (buffered.length < 2 + length) break;
      const message = buffered.subarray(2, 2 + length);
      buffered = buffered.subarray(2 + length);
      timer.refresh();
      onMessage();
      void serve(message).catch(() => socket.destroy());
    }
    if (pendingCount >= MAX_PIPELINED_QUERIES) socket.pause();
    if (hasEnded && pendingCount === 0) socket.end();
  }

  socket.on("data", (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    readMessages();
  });
  // After a half-close the client may still be waiting for answers.
  socket.on("end", () => {
    hasEnded = true;
    readMessages();
  });
}
