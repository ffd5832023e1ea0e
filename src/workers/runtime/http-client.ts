import { connect } from "node:net";

/**
 * A minimal HTTP/1.1 client (RFC 9112) for a trusted peer, workerd behind a unix socket, with requests and responses
 * held in memory. Every message to every worker passes through it, and node:http would cost more than the worker's own
 * code.
 */
interface HttpClient {
  post(headers: Record<string, string | number>, body: Uint8Array): Exchange;
  close(): void;
}

interface Exchange {
  /** Rejects if the connection fails, or with the reason passed to abandon(). */
  readonly answer: Promise<ClientResponse>;
  /** Closes the connection, whereupon workerd cancels the request. */
  abandon(reason: Error): void;
}

export interface ClientResponse {
  status: number;
  body: string;
}

export interface HttpClientOptions {
  socketPath: string;
  /** Maximum number of concurrent requests; further ones wait. */
  maxConnections: number;
  /** Maximum number of waiting requests. */
  maxWaiting?: number;
  /** Maximum length of a response in bytes. */
  maxAnswer?: number;
}

/**
 * workerd closes a connection that has been idle for 5 s (the pipelineTimeout of its HTTP library), so this client
 * closes it earlier.
 */
const IDLE_MS = 4000;

interface Pending {
  request: Uint8Array;
  settled: boolean;
  /** True if the request was resent because a kept-alive connection was closed at the moment of its reuse. */
  retried: boolean;
  connection: Connection | undefined;
  resolve(answer: ClientResponse): void;
  reject(reason: unknown): void;
}

interface Connection {
  send(pending: Pending): void;
  destroy(): void;
}

export function createHttpClient({
  socketPath,
  maxConnections,
  maxWaiting = 10_000,
  maxAnswer = 1024 * 1024,
}: HttpClientOptions): HttpClient {
  const openConnections = new Set<Connection>();
  const idleConnections: Connection[] = [];
  const waitingExchanges: Pending[] = [];

  function start(pending: Pending, connection = idleConnections.pop() ?? openConnection()) {
    pending.connection = connection;
    connection.send(pending);
  }

  function startNext() {
    while (waitingExchanges.length > 0 && (idleConnections.length > 0 || openConnections.size < maxConnections)) {
      const pending = waitingExchanges.shift()!;
      if (!pending.settled) start(pending);
    }
  }

  function openConnection(): Connection {
    const socket = connect(socketPath);
    let current: Pending | undefined;
    let received: Buffer = Buffer.alloc(0);
    let uses = 0;

    const connection: Connection = {
      send(pending) {
        current = pending;
        uses++;
        socket.setTimeout(0);
        socket.write(pending.request);
      },
      destroy: () => void socket.destroy(),
    };
    openConnections.add(connection);
    socket.on("data", (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const answer = readResponse(received, maxAnswer);
        if (answer === undefined) return;
        received = Buffer.alloc(0);
        const pending = current;
        current = undefined;
        socket.setTimeout(IDLE_MS);
        idleConnections.push(connection);
        if (pending !== undefined) settle(pending, () => pending.resolve(answer));
        startNext();
      } catch (err) {
        socket.destroy(err as Error);
      }
    });
    socket.on("timeout", () => socket.destroy());
    let failure: Error | undefined;
    socket.on("error", (err) => (failure = err));
    socket.on("close", () => {
      openConnections.delete(connection);
      const idleIndex = idleConnections.indexOf(connection);
      if (idleIndex >= 0) idleConnections.splice(idleIndex, 1);
      const pending = current;
      if (pending !== undefined && !pending.settled) {
        // Nothing was received on a connection that had been idle: it was closed before the request was read.
        if (uses > 1 && received.length === 0 && !pending.retried) {
          pending.retried = true;
          // Uses a new connection, because workerd may have closed the other idle ones too.
          start(pending, openConnection());
        } else {
          settle(pending, () =>
            pending.reject(failure ?? new Error("the connection was closed before the response arrived")),
          );
        }
      }
      startNext();
    });
    return connection;
  }

  return {
    post(headers, body) {
      const { promise: answer, resolve, reject } = Promise.withResolvers<ClientResponse>();
      const pending: Pending = {
        request: encode(headers, body),
        settled: false,
        retried: false,
        connection: undefined,
        resolve,
        reject,
      };
      if (waitingExchanges.length >= maxWaiting)
        settle(pending, () => reject(new Error(`${maxWaiting} messages are waiting for this worker`)));
      else waitingExchanges.push(pending);
      startNext();
      return {
        answer,
        abandon(reason) {
          settle(pending, () => reject(reason));
          pending.connection?.destroy();
        },
      };
    },
    close() {
      for (const connection of openConnections) connection.destroy();
    },
  };
}

function settle(pending: Pending, outcome: () => void): void {
  if (pending.settled) return;
  pending.settled = true;
  outcome();
}

function encode(headers: Record<string, string | number>, body: Uint8Array): Uint8Array {
  let head = `POST / HTTP/1.1\r\nhost: mail\r\ncontent-length: ${body.length}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  return Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), body]);
}

/** Returns the complete response, or undefined if more data is needed. Throws for data that workerd never sends. */
function readResponse(received: Buffer, maxAnswer: number): ClientResponse | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) {
    if (received.length > maxAnswer) throw new Error("the header section of the response is too long");
    return undefined;
  }
  const head = received.toString("latin1", 0, end);
  const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? [];
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (status === undefined || length === undefined) throw new Error("the response is not valid for workerd");
  if (Number(length) > maxAnswer) throw new Error("the response is too long");
  const bodyAt = end + 4;
  return received.length < bodyAt + Number(length)
    ? undefined
    : { status: Number(status), body: received.toString("utf8", bodyAt, bodyAt + Number(length)) };
}
