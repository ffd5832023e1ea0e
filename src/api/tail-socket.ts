import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { UserError, type Log } from "../kernel/index.ts";
import {
  acceptance,
  CLOSE,
  createMessageReader,
  encodeClose,
  encodeFrame,
  OPCODE,
  readHandshake,
  WebSocketViolation,
} from "../protocol/websocket/index.ts";
import type { TailReader, Tails } from "../workers/index.ts";
import { API_BASE } from "./base.ts";

/** Path of a tail. The id is the credential, because clients send no token. */
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
  pingMs?: number;
}

/** Readers need not send anything; `wrangler tail` only sends short messages. */
const MAX_MESSAGE = 64 * 1024;
const HANDSHAKE_MS = 2000;

interface Connection {
  close(code: number, reason: string): void;
}

/** WebSocket connections for tails (RFC 6455). */
export function createTailSockets({ tails, log, pingMs = 20_000 }: TailSocketsOptions): TailSockets {
  const open = new Set<Connection>();
  let closed = false;

  async function start(id: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const handshake = readHandshake(request);
    if (!handshake.ok) return refuse(socket, handshake.status, handshake.reason, handshake.headers);
    if (closed) return refuse(socket, 503, "the server is shutting down");
    const protocol = handshake.protocols.includes(PROTOCOL) ? PROTOCOL : undefined;
    const connection = createConnection(socket, { pingMs, onClose: () => open.delete(connection) });
    let reader: TailReader | undefined;
    try {
      reader = await tails.read(id, {
        write: connection.write,
        close: () => connection.close(CLOSE.normal, "the tail has ended"),
      });
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      return refuse(socket, err.entry.http, err.message);
    }
    if (reader === undefined) return refuse(socket, 404, "this tail does not exist or has expired");
    if (socket.destroyed) return reader.left();
    open.add(connection);
    connection.begin(acceptance(handshake.key, protocol), head, reader);
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
      for (const connection of open) connection.close(CLOSE.goingAway, "the server is shutting down");
    },
  };
}

/** The connection of one reader. Messages are queued until the handshake is complete. */
function createConnection(socket: Duplex, { pingMs, onClose }: { pingMs: number; onClose: () => void }) {
  const messages = createMessageReader({ maxMessage: MAX_MESSAGE, acceptUnmasked: true });
  const early: string[] = [];
  let begun = false;
  let closing = false;
  let silentPings = 0;

  const send = (frame: Buffer): boolean => socket.writable && socket.write(frame);

  /** Does not wait for a client that fails to close the connection, even if it keeps sending. */
  const goSoon = () => setTimeout(() => socket.destroy(), HANDSHAKE_MS).unref();

  function close(code: number, reason: string) {
    if (closing) return;
    closing = true;
    if (!begun) return;
    send(encodeClose(code, reason));
    // The peer responds with its own close frame (7.1.2).
    goSoon();
  }

  function receive(chunk: Buffer) {
    silentPings = 0;
    try {
      for (const event of messages.push(chunk)) {
        if (event.kind === "close") {
          // 5.5.1: echoes the close code.
          if (!closing) send(encodeClose(event.code ?? CLOSE.normal));
          closing = true;
          socket.end();
          goSoon();
        } else if (event.kind === "ping" && !closing && !socket.writableNeedDrain) {
          // 5.5.3 requires a pong only for the most recent ping: pings during back-pressure are skipped.
          send(encodeFrame(OPCODE.pong, event.payload));
        }
      }
    } catch (err) {
      if (!(err instanceof WebSocketViolation)) throw err;
      close(err.code, err.message);
    }
  }

  function ping() {
    if (++silentPings > 2) return void socket.destroy();
    if (!closing && !socket.writableNeedDrain) send(encodeFrame(OPCODE.ping, new Uint8Array()));
  }

  return {
    close,
    write(text: string): boolean {
      if (closing) return true;
      if (begun) return send(encodeFrame(OPCODE.text, Buffer.from(text)));
      early.push(text);
      return false;
    },
    /** Completes the handshake and connects the reader. */
    begin(answer: string, head: Buffer, reader: TailReader) {
      const pings = setInterval(ping, pingMs).unref();
      socket.once("close", () => {
        closing = true;
        clearInterval(pings);
        reader.left();
        onClose();
      });
      if ("setTimeout" in socket) (socket as unknown as { setTimeout(ms: number): void }).setTimeout(0);
      socket.on("drain", () => reader.drained());
      socket.write(answer);
      begun = true;
      // The tail may have ended while it was being opened.
      if (closing) {
        closing = false;
        return close(CLOSE.normal, "the tail has ended");
      }
      for (const text of early) send(encodeFrame(OPCODE.text, Buffer.from(text)));
      socket.on("data", receive);
      socket.on("end", () => socket.end());
      if (head.length > 0) receive(head);
      if (!socket.writableNeedDrain) reader.drained();
    },
  };
}

const STATUS: Record<number, string> = {
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  426: "Upgrade Required",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

function refuse(socket: Duplex, status: number, reason: string, headers: Record<string, string> = {}): void {
  const all = {
    Connection: "close",
    ...headers,
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(reason) + 1),
  };
  socket.end(
    `HTTP/1.1 ${status} ${STATUS[status] ?? "Refused"}\r\n${Object.entries(all)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n${reason}\n`,
  );
}
