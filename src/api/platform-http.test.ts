import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { connect as connectTls, createSecureContext } from "node:tls";
import tlsOptions from "smtp-server/lib/tls-options";
import { silentLog } from "../kernel/index.ts";
import { createPlatformHttp, type PlatformHttpOptions } from "./platform-http.ts";

async function listen(t: TestContext, options: Partial<PlatformHttpOptions>) {
  const server = createPlatformHttp({
    hosts: { domain: "localhost" },
    pages: { "/": (_, response) => void response.end("front page") },
    log: silentLog,
    graceMs: 0,
    ...options,
  });
  t.after(() => server.close());
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const open = async (localAddress = "127.0.0.1") => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    sockets.push(socket);
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket.setEncoding("latin1");
  };
  return { server, open };
}

const answerTo = async (socket: Socket, text: string) => {
  socket.write(text);
  const [answer] = (await once(socket, "data")) as [string];
  return answer.split("\r\n", 1)[0];
};
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

test("refuses connections above the per-network limit, and accepts new ones after others have closed", async (t) => {
  const { open } = await listen(t, { connections: { total: 10, perNetwork: 2 } });
  const [first, second] = [await open(), await open()];
  for (const socket of [first, second]) assert.equal(await answerTo(socket, GET), "HTTP/1.1 200 OK");
  const third = await open();
  const [refusal] = await once(third, "data");
  assert.match(refusal, /^HTTP\/1\.1 503 /);
  await once(third, "close");
  assert.equal(await answerTo(await open("127.0.0.2"), GET), "HTTP/1.1 200 OK");
  first.destroy();
  // The server notices the close asynchronously.
  for (;;) {
    const next = await open();
    next.write(GET);
    const [text] = await once(next, "data");
    if (text.startsWith("HTTP/1.1 200 ")) break;
  }
});

test("refuses connections above the total limit across all listeners", async (t) => {
  const pem = { key: tlsOptions({}).key as string, cert: tlsOptions({}).cert as string };
  const { server, open } = await listen(t, { connections: { total: 1, perNetwork: 10 } });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 }, {
    pem: () => pem,
    context: () => createSecureContext(pem),
    onChange: () => () => {},
  } as never);
  const first = await open();
  assert.equal(await answerTo(first, GET), "HTTP/1.1 200 OK");
  const tls = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await assert.rejects(once(tls, "secureConnect"), /disconnected before secure TLS connection/);
  assert.equal(await answerTo(first, GET), "HTTP/1.1 200 OK");
});

test("closes the connection when a request body to a worker stalls", async (t) => {
  const bytes: number[] = [];
  const { open } = await listen(t, {
    bodyIdleMs: { platform: 60_000, worker: 150 },
    workers: {
      live: {
        fetch: async (_, request) =>
          void request.on("data", (chunk: Buffer) => bytes.push(chunk.length)).on("error", () => {}) as never,
        upgrade: () => {},
      },
      bySubdomain: async (label, script) => ({ account: label, script }),
      defaultLabel: async () => "main",
    },
  });
  const socket = await open();
  socket.write("POST /workers/one/ HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nbeginning");
  await once(socket, "close");
  assert.deepEqual(bytes, [9]);
});
