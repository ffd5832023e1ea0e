import { connect, type Socket } from "node:net";

const responseTimeoutMs = 60_000;

interface Answer {
  status: number;
  body: string;
}

export interface LoadClient {
  get(path: string): Promise<Answer>;
  post(path: string, body: Uint8Array): Promise<Answer>;
  close(): void;
}

/**
 * HTTP load over keep-alive connections, one per concurrent request. The load shares the machine with the server, so
 * this speaks minimal HTTP/1.1 at a tenth of the cost of `node:http`: it requires Content-Length and throws without it.
 */
export function createClient(url: string, headers: Record<string, string> = {}): LoadClient {
  const fixed = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const { hostname, port, host } = new URL(url);
  const idle: Socket[] = [];
  const open = new Set<Socket>();

  const connection = () => {
    const socket = connect(Number(port), hostname).setNoDelay(true);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    open.add(socket);
    return socket;
  };

  /** Servers close idle connections while other arms run. */
  const idleConnection = () => {
    for (;;) {
      const socket = idle.pop();
      if (socket === undefined || (!socket.destroyed && !socket.readableEnded)) return socket;
    }
  };

  async function send(head: string, body?: Uint8Array): Promise<Answer> {
    const socket = idleConnection() ?? connection();
    socket.cork();
    socket.write(head);
    if (body !== undefined) socket.write(body);
    socket.uncork();
    const response = await readResponse(socket);
    idle.push(socket);
    return response;
  }

  return {
    get: (path) => send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${fixed}\r\n`),
    post: (path, body) =>
      send(
        `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${fixed}content-type: text/plain\r\ncontent-length: ${body.byteLength}\r\n\r\n`,
        body,
      ),
    close: () => open.forEach((socket) => socket.destroy()),
  };
}

function readResponse(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const timer = setTimeout(
      () => onError(new Error(`no response after ${responseTimeoutMs / 1000} s`)),
      responseTimeoutMs,
    );
    const settle = (done: () => void) => {
      clearTimeout(timer);
      socket.off("data", onData).off("error", onError).off("close", onClose);
      done();
    };
    const onError = (err: Error) => settle(() => reject(err));
    const onClose = () => settle(() => reject(new Error("the server closed the connection before it responded")));
    const onData = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const headEnd = received.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const head = received.toString("latin1", 0, headEnd);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) return onError(new Error(`the answer has no Content-Length:\n${head}`));
      const bodyAt = headEnd + 4;
      if (received.length < bodyAt + Number(length)) return;
      settle(() => resolve({ status: Number(head.slice(9, 12)), body: received.toString("utf8", bodyAt) }));
    };
    socket.on("data", onData).on("error", onError).on("close", onClose);
  });
}

/**
 * Completed `send` calls per second with `concurrency` callers, each of which sends the next request after its
 * response.
 */
export async function throughput(
  send: () => Promise<void>,
  { concurrency, forMs }: { concurrency: number; forMs: number },
): Promise<number> {
  const started = performance.now();
  let sent = 0;
  const caller = async () => {
    while (performance.now() - started < forMs) {
      await send();
      sent++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return (sent / (performance.now() - started)) * 1000;
}
