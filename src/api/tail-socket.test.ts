import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { type ClientOptions, WebSocket } from "ws";
import { silentLog } from "../kernel/index.ts";
import type { ReaderConnection } from "../workers/index.ts";
import { createTailSockets, tailPath, type TailSocketsOptions } from "./tail-socket.ts";

const ID = "0123456789abcdef".repeat(2);
const KEY = "dGhlIHNhbXBsZSBub25jZQ==";
const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": KEY,
};

interface Opening extends Partial<TailSocketsOptions> {
  /** Called when the tail is read, before the handshake is complete. */
  onRead?: (connection: ReaderConnection) => void;
}

/** Opens a server with one readable tail. */
async function open(t: TestContext, { onRead = () => {}, ...options }: Opening = {}) {
  const read = Promise.withResolvers<ReaderConnection>();
  const left = Promise.withResolvers<void>();
  let [drains, reads] = [0, 0];
  const sockets = createTailSockets({
    tails: {
      async read(id, connection) {
        reads++;
        if (id !== ID) return undefined;
        onRead(connection);
        read.resolve(connection);
        return { drained: () => void drains++, closed: left.resolve };
      },
    },
    log: silentLog,
    ...options,
  });
  const server = createServer();
  const clients = new Set<Socket>();
  server.on("connection", (socket) => clients.add(socket));
  server.on("upgrade", (request, socket, head) => {
    if (!sockets.upgrade(request, socket, head)) socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of clients) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return {
    sockets,
    port,
    url: `ws://127.0.0.1:${port}${tailPath(ID)}`,
    reader: read.promise,
    left: left.promise,
    drains: () => drains,
    reads: () => reads,
  };
}

type Handshake = { path?: string; headers?: Record<string, string>; method?: string };

/** Sends a handshake and resolves with the server's response. */
async function shakeHands(port: number, { path = tailPath(ID), headers = {}, method = "GET" }: Handshake = {}) {
  const requested = request({ port, path, method, headers: { ...HANDSHAKE, ...headers } }).end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  requested.on("error", reject).on("response", (response) => resolve(response.resume()));
  requested.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve(response);
  });
  return promise;
}

/** Resolves with an open client, its socket, and the close code and reason it will receive. */
async function openClient(t: TestContext, url: string, options: ClientOptions = {}) {
  const client = new WebSocket(url, "trace-v1", options);
  t.after(() => client.terminate());
  const closed = new Promise<[code: number, reason: string]>((resolve) =>
    client.once("close", (code, reason) => resolve([code, reason.toString()])),
  );
  const socket = new Promise<Socket>((resolve) => client.once("upgrade", (response) => resolve(response.socket)));
  await once(client, "open");
  return { client, closed, socket: await socket };
}

test("a standard client connects, receives records, and is closed with 1000 when the tail ends", async (t) => {
  const { url, reader, left } = await open(t);
  const client = new WebSocket(url, "trace-v1");
  const seen: string[] = [];
  client.on("message", (data, isBinary) => void seen.push(`${isBinary} ${String(data)}`));
  await new Promise((resolve) => client.once("open", resolve));
  assert.equal(client.protocol, "trace-v1");
  assert.equal(client.extensions, "");
  const connection = await reader;
  for (const text of ["{}", `"${"é".repeat(70_000)}"`]) connection.write(text);
  connection.close();
  const [code, reason] = await new Promise<[number, Buffer]>((resolve) =>
    client.once("close", (...args) => resolve(args)),
  );
  assert.deepEqual([code, reason.toString()], [1000, "the tail has ended"]);
  assert.deepEqual(
    seen.map((each) => each.length),
    [8, 70_008],
  );
  await left;
});

test(
  "accepts the unmasked first frame from wrangler, and pings in both directions",
  { timeout: 120_000 },
  async (t) => {
    // Long enough for a busy machine: a client that is silent for two intervals is disconnected.
    const { url, reader } = await open(t, { pingIntervalMs: 500 });
    const client = new WebSocket(url, "trace-v1", { perMessageDeflate: true });
    let pings = 0;
    const pinged = new Promise<void>((resolve) => client.on("ping", () => (++pings === 4 ? resolve() : undefined)));
    await new Promise((resolve) => client.once("open", resolve));
    client.send(JSON.stringify({ debug: false }), { mask: false, compress: false, binary: false, fin: true });
    client.send("wrangler tail ping");
    client.ping("are you there");
    const answered = new Promise<Buffer>((resolve) => client.once("pong", resolve));
    assert.equal((await answered).toString(), "are you there");
    // Only its pongs keep the connection open.
    await pinged;
    const reported = new Promise((resolve) => client.once("message", (data) => resolve(String(data))));
    (await reader).write("still here");
    assert.equal(await reported, "still here");
    client.terminate();
  },
);

test("accepts an unmasked first frame in pieces, and no other unmasked frame", { timeout: 120_000 }, async (t) => {
  const { url } = await open(t);
  const { client, closed, socket } = await openClient(t, url);
  for (const octet of [0x89, 0x02, 0x68, 0x69]) socket.write(Uint8Array.of(octet));
  assert.equal(String((await once(client, "pong"))[0]), "hi");
  client.send("unmasked", { mask: false });
  assert.equal((await closed)[0], 1002);
});

test("sends records written during the handshake, and closes if the tail ended during it", async (t) => {
  const early = await open(t, { onRead: (connection) => assert.equal(connection.write("early"), false) });
  const client = new WebSocket(early.url, "trace-v1");
  t.after(() => client.terminate());
  assert.equal(String((await once(client, "message"))[0]), "early");
  assert.equal(early.drains(), 1);
  const ended = await open(t, { onRead: (connection) => connection.close() });
  const { closed } = await openClient(t, ended.url);
  assert.deepEqual(await closed, [1000, "the tail has ended"]);
  await ended.left;
});

test("the response contains the key, the subprotocol trace-v1 only if requested, and no extension", async (t) => {
  const { port } = await open(t);
  const { statusCode, headers } = await shakeHands(port, {
    headers: { "Sec-WebSocket-Protocol": "other, trace-v1", "Sec-WebSocket-Extensions": "permessage-deflate" },
  });
  assert.equal(statusCode, 101);
  assert.equal(headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  assert.equal(headers["sec-websocket-protocol"], "trace-v1");
  assert.equal(headers["sec-websocket-extensions"], undefined);
  for (const offered of [undefined, { "Sec-WebSocket-Protocol": "other" }]) {
    const plain = await shakeHands(port, { headers: offered });
    assert.deepEqual([plain.statusCode, plain.headers["sec-websocket-protocol"]], [101, undefined]);
  }
});

test("rejects an invalid handshake, an unknown tail and another path", async (t) => {
  const { port, reads } = await open(t);
  const refusal = async (requested: Handshake) => {
    const { statusCode, headers } = await shakeHands(port, requested);
    return [statusCode, headers.allow ?? headers["sec-websocket-version"]];
  };
  assert.deepEqual(await refusal({ headers: { "Sec-WebSocket-Key": "" } }), [400, undefined]);
  assert.deepEqual(await refusal({ headers: { "Sec-WebSocket-Key": "c2hvcnQ=" } }), [400, undefined]);
  assert.deepEqual(await refusal({ headers: { "Sec-WebSocket-Version": "8" } }), [426, "13"]);
  assert.deepEqual(await refusal({ method: "POST" }), [405, "GET"]);
  // Reading the tail would have disconnected its present reader.
  assert.equal(reads(), 0);
  assert.deepEqual(await refusal({ path: tailPath("f".repeat(32)) }), [404, undefined]);
  assert.deepEqual(await refusal({ path: tailPath("short") }), [404, undefined]);
  assert.deepEqual(await refusal({ path: `${tailPath(ID)}/more` }), [404, undefined]);
  assert.deepEqual(await refusal({ path: `${tailPath(ID)}?query` }), [101, undefined]);
});

test("reads fragmented messages, and echoes the close code", async (t) => {
  const { url, left } = await open(t);
  const { client, closed } = await openClient(t, url);
  client.send("a", { fin: false });
  client.ping("mid");
  client.send("b");
  assert.equal(String((await once(client, "pong"))[0]), "mid");
  client.close(4000);
  assert.deepEqual(await closed, [4000, ""]);
  await left;
});

const WRONG: [string, (client: WebSocket, socket: Socket) => void, number][] = [
  ["a compressed frame", (_, socket) => socket.write(Uint8Array.of(0xc1, 0x80, 0, 0, 0, 0)), 1002],
  ["text that is not UTF-8", (client) => client.send(Uint8Array.of(0xff), { binary: false }), 1007],
  ["a long frame", (client) => client.send("x".repeat(64 * 1024 + 1)), 1009],
  [
    "a long message in fragments",
    (client) => {
      client.send("x".repeat(64 * 1024), { fin: false });
      client.send("x");
    },
    1009,
  ],
];
for (const [what, send, code] of WRONG) {
  test(`${what} closes the connection with ${code}`, async (t) => {
    const { url, left } = await open(t);
    const { client, closed, socket } = await openClient(t, url);
    send(client, socket);
    assert.equal((await closed)[0], code);
    await left;
  });
}

test("pauses for a slow reader and continues when it catches up", async (t) => {
  const { url, reader, drains } = await open(t);
  const { client } = await openClient(t, url);
  client.pause();
  const connection = await reader;
  const text = "x".repeat(100_000);
  let written = 1;
  while (connection.write(text)) assert.ok(++written < 1000, "a connection that is not read applies no backpressure");
  const before = drains();
  const received = Promise.withResolvers<void>();
  let count = 0;
  client.on("message", (data) => {
    assert.equal(String(data), text);
    if (++count === written) received.resolve();
  });
  client.resume();
  await received.promise;
  assert.ok(drains() > before);
});

test("closes a reader that stays silent for too long", async (t) => {
  const { url, left } = await open(t, { pingIntervalMs: 5 });
  const { closed } = await openClient(t, url, { autoPong: false });
  await left;
  assert.equal((await closed)[0], 1006);
});

test("closes readers on shutdown and accepts no new ones", async (t) => {
  const { sockets, url, port, left } = await open(t);
  const { closed } = await openClient(t, url);
  sockets.close();
  assert.deepEqual(await closed, [1001, "the server is shutting down"]);
  await left;
  assert.equal((await shakeHands(port)).statusCode, 503);
});

test("drops a client that keeps sending after its close frame", { timeout: 120_000 }, async (t) => {
  const { port, left } = await open(t);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {}).resume();
  socket.write(
    `GET ${tailPath(ID)} HTTP/1.1\r\nHost: x\r\n${Object.entries(HANDSHAKE)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`,
  );
  await once(socket, "data");
  socket.write(Uint8Array.of(0x88, 0x82, 0, 0, 0, 0, 3, 232));
  const talking = setInterval(() => socket.write(Uint8Array.of(0x89, 0x80, 0, 0, 0, 0)), 50);
  t.after(() => (clearInterval(talking), socket.destroy()));
  await left;
});
