import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { UserError, type Log } from "../kernel/index.ts";
import type { ReaderConnection, TailReader, Tails } from "../workers/index.ts";
import { API_BASE } from "./base.ts";

/** Returns the path of a tail. The id is the credential, because clients send no token. */
export const tailPath = (id: string): string => `${API_BASE}/tails/${id}`;
const TAIL_PATH = new RegExp(`^${tailPath("([0-9a-f]{32})")}/?(?:\\?.*)?$`);

/** The only subprotocol: one JSON object per text frame. */
const PROTOCOL = "trace-v1";

interface TailSockets {
  /** Handles upgrade requests for tails; returns true if the request was for a tail. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Closes every reader; they reconnect to another process or to this server after its restart. */
  close(): void;
}

export interface TailSocketsOptions {
  tails: Pick<Tails, "read">;
  log: Log;
  /** Ping interval; a reader that is silent for two intervals is disconnected. Default 20 s. */
  pingIntervalMs?: number;
}

const CLOSE_CODES = { normal: 1000, goingAway: 1001 };

const SERVER_OPTIONS = {
  noServer: true,
  handleProtocols: (offered: Set<string>) => offered.has(PROTOCOL) && PROTOCOL,
  perMessageDeflate: false,
  /** Bytes. Readers need not send anything; `wrangler tail` only sends short messages. */
  maxPayload: 64 * 1024,
  /** Milliseconds to wait for a client that fails to close the connection, even if it keeps sending. */
  closeTimeout: 2000,
};

/** WebSocket connections for tails (RFC 6455). */
export function createTailSockets({ tails, log, pingIntervalMs: pingMs = 20_000 }: TailSocketsOptions): TailSockets {
  const server = new WebSocketServer(SERVER_OPTIONS);
  let closed = false;

  async function start(id: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const refusal = refusalOf(request);
    if (refusal !== undefined) return refuse(socket, ...refusal);
    if (closed) return refuse(socket, 503, "the server is shutting down");
    const connection = createConnection(socket);
    let reader: TailReader | undefined;
    try {
      reader = await tails.read(id, connection);
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      return refuse(socket, err.entry.http, err.message);
    }
    if (reader === undefined) return refuse(socket, 404, "this tail does not exist or has expired");
    if (socket.destroyed) return reader.closed();
    socket.once("close", reader.closed).on("drain", reader.drained);
    server.handleUpgrade(request, socket, head, (client) => {
      maskFirstFrame(socket);
      keepAlive(client, socket, pingMs);
      connection.begin(client);
      if (!socket.writableNeedDrain) reader.drained();
    });
  }

  return {
    upgrade(request, socket, head) {
      const id = TAIL_PATH.exec(request.url ?? "")?.[1];
      if (id === undefined) return false;
      socket.on("error", () => socket.destroy());
      start(id, request, socket, head).catch((err: unknown) => {
        log.error({ err }, "api: failed to open a tail");
        refuse(socket, 500, "internal error, see the server log");
      });
      return true;
    },
    close() {
      closed = true;
      server.close();
      for (const client of server.clients) client.close(CLOSE_CODES.goingAway, "the server is shutting down");
    },
  };
}

/** Creates the connection of one reader. Messages are queued until the handshake is complete. */
function createConnection(socket: Duplex): ReaderConnection & { begin(client: WebSocket): void } {
  const early: string[] = [];
  let client: WebSocket | undefined;
  let ended = false;

  const end = () => client?.close(CLOSE_CODES.normal, "the tail has ended");

  return {
    write(text) {
      if (client === undefined) {
        early.push(text);
        return false;
      }
      if (client.readyState === WebSocket.OPEN) client.send(text);
      return !socket.writableNeedDrain;
    },
    close() {
      ended = true;
      end();
    },
    begin(opened) {
      client = opened;
      // The tail may have ended while it was being opened.
      if (ended) return end();
      for (const text of early) client.send(text);
    },
  };
}

/** Disconnects a client that is silent for two ping intervals, or violates the protocol. */
function keepAlive(client: WebSocket, socket: Duplex, intervalMs: number): void {
  let silentPings = 0;
  const timer = setInterval(() => {
    if (++silentPings > 2) client.terminate();
    else if (!socket.writableNeedDrain) client.ping();
  }, intervalMs).unref();
  socket.on("data", () => (silentPings = 0)).once("close", () => clearInterval(timer));
  // ws closes the connection with the status code of the violation.
  client.on("error", () => {});
}

/**
 * `wrangler tail` sends its first frame unmasked, which ws rejects as RFC 6455 5.1 requires. Gives this frame a mask of
 * zeros; masking protects intermediate caches, not this server. Call it when ws has begun to read the socket.
 */
function maskFirstFrame(socket: Duplex): void {
  const listeners = socket.listeners("data") as ((chunk: Buffer) => void)[];
  let start = Buffer.alloc(0);
  socket.removeAllListeners("data").on("data", function receive(chunk: Buffer) {
    start = Buffer.concat([start, chunk]);
    const [opcode, length] = start;
    if (opcode === undefined || length === undefined) return;
    socket.off("data", receive);
    for (const listener of listeners) socket.on("data", listener);
    // RFC 6455 5.2: a second byte below 126 is the length of an unmasked payload.
    socket.unshift(
      length < 126 ? Buffer.concat([Buffer.of(opcode, length | 0x80, 0, 0, 0, 0), start.subarray(2)]) : start,
    );
  });
}

type Refusal = [status: 400 | 405 | 426, reason: string, headers?: Record<string, string>];

/**
 * Checks the client's handshake (RFC 6455 4.2.1) before the tail is read, because a new reader replaces the previous
 * one.
 */
function refusalOf({ method, headers }: IncomingMessage): Refusal | undefined {
  if (method !== "GET") return [405, "a WebSocket is opened with GET", { Allow: "GET" }];
  if (headers["sec-websocket-version"] !== "13")
    return [426, "the version of the protocol is 13", { "Sec-WebSocket-Version": "13" }];
  // The key is sixteen octets in base64.
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    return [400, "Sec-WebSocket-Key is missing or malformed"];
  return undefined;
}

function refuse(socket: Duplex, status: number, reason: string, headers: Record<string, string> = {}): void {
  const allHeaders = {
    Connection: "close",
    ...headers,
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(reason) + 1),
  };
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${Object.entries(allHeaders)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n${reason}\n`,
  );
}
