import { connect, type Socket } from "node:net";

const responseTimeoutMs = 30_000;

/**
 * Fetches paths over keep-alive connections, counts the bytes of the bodies and discards them. The load shares the
 * machine with the server, so bodies are not inspected and reads share one buffer.
 */
interface Drain {
  /** Resolves with the number of bytes in the body. Rejects for any status other than 200. */
  get(path: string): Promise<number>;
  close(): void;
}

export function createDrain(url: string): Drain {
  const { hostname, port, host } = new URL(url);
  const idle: Connection[] = [];
  const all = new Set<Socket>();
  return {
    async get(path) {
      let connection = idle.pop();
      while (connection?.socket.destroyed) connection = idle.pop();
      connection ??= open();
      const octets = await connection.ask(
        `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: bench\r\naccept: */*\r\norigin: https://player.example\r\n\r\n`,
      );
      idle.push(connection);
      return octets;
    },
    close: () => all.forEach((socket) => socket.destroy()),
  };

  function open(): Connection {
    const connection = createConnection({ hostname, port: Number(port) });
    all.add(connection.socket);
    return connection;
  }
}

/** Handles one request at a time. */
interface Connection {
  socket: Socket;
  ask(head: string): Promise<number>;
}

function createConnection({ hostname, port }: { hostname: string; port: number }): Connection {
  const memory = Buffer.allocUnsafeSlow(1024 * 1024);
  let head = "";
  let expected = -1;
  let received = 0;
  let settle: { resolve(octets: number): void; reject(err: Error): void } | undefined;
  const fail = (why: string) => {
    socket.destroy();
    settle?.reject(new Error(why));
    settle = undefined;
  };
  const readHead = (text: string) => {
    head += text;
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (!head.startsWith("HTTP/1.1 200 ") || length === undefined)
      return fail(`expected a 200 response with Content-Length, got: ${head.slice(0, 300)}`);
    expected = Number(length);
    received = head.length - end - 4;
  };
  const done = () => {
    const octets = expected;
    expected = -1;
    head = "";
    settle?.resolve(octets);
    settle = undefined;
  };
  const socket = connect({
    host: hostname,
    port,
    noDelay: true,
    onread: {
      buffer: memory,
      callback(count, bytes) {
        if (expected >= 0) received += count;
        else readHead(Buffer.from(bytes.buffer, bytes.byteOffset, count).toString("latin1"));
        if (expected >= 0 && received >= expected) done();
        return true;
      },
    },
  });
  socket.setTimeout(responseTimeoutMs, () => fail(`no response after ${responseTimeoutMs / 1000} s`));
  socket
    .on("error", (err) => fail(err.message))
    .on("close", () => fail("the server closed the connection before it responded"));
  return {
    socket,
    ask: (text) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(text);
      }),
  };
}
