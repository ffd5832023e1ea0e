import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { WebSocket } from "ws";
import { silentLog } from "../kernel/index.ts";
import { createMessageReader, encodeFrame, OPCODE, type SocketEvent } from "../protocol/websocket/index.ts";
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

/** A server with one readable tail. */
async function open(t: TestContext, options: Partial<TailSocketsOptions> = {}) {
  const read = Promise.withResolvers<ReaderConnection>();
  const left = Promise.withResolvers<void>();
  let drains = 0;
  const sockets = createTailSockets({
    tails: {
      async read(id, connection) {
        if (id !== ID) return undefined;
        read.resolve(connection);
        return { drained: () => void drains++, left: left.resolve };
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
  };
}

/** A client at the byte level. */
async function rawClient(
  t: TestContext,
  port: number,
  {
    path = tailPath(ID),
    headers = {},
    method = "GET",
  }: { path?: string; headers?: Record<string, string | undefined>; method?: string } = {},
) {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  const all = Object.entries({ Host: "x", ...HANDSHAKE, ...headers }).filter(([, value]) => value !== undefined);
  socket.write(`${method} ${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  let received = Buffer.alloc(0);
  const state = { ended: false };
  let wake = () => {};
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    state.ended = true;
    wake();
  });
  const more = () => new Promise<void>((resolve) => (wake = resolve));
  while (!received.includes("\r\n\r\n") && !state.ended) await more();
  const end = received.indexOf("\r\n\r\n") + 4;
  const head = received.subarray(0, end).toString("latin1");
  received = received.subarray(end);
  const messages = createMessageReader({ maxMessage: 10_000_000, acceptUnmasked: true });
  const events: SocketEvent[] = [];
  return {
    socket,
    head,
    status: Number(head.split(" ")[1]),
    /** The next event from the server, except pings. Undefined if the server closed the connection. */
    async next(): Promise<SocketEvent | undefined> {
      for (;;) {
        events.push(...[...messages.push(received)].filter(({ kind }) => kind !== "ping"));
        received = Buffer.alloc(0);
        const event = events.shift();
        if (event !== undefined || state.ended) return event;
        await more();
      }
    },
  };
}

const masked = (opcode: number, payload: string | Uint8Array, fin = true) =>
  encodeFrame(opcode, Buffer.from(payload), { fin, mask: Buffer.from([9, 8, 7, 6]) });

test("a stock client connects, receives records and is closed with 1000 when the tail ends", async (t) => {
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

test("accepts an unmasked first frame, as sent by wrangler, and responds to pings in both directions", async (t) => {
  const { url, reader } = await open(t, { pingMs: 5 });
  const client = new WebSocket(url, "trace-v1", { perMessageDeflate: true });
  let pings = 0;
  const pinged = new Promise<void>((resolve) => client.on("ping", () => (++pings === 10 ? resolve() : undefined)));
  await new Promise((resolve) => client.once("open", resolve));
  client.send(JSON.stringify({ debug: false }), { mask: false, compress: false, binary: false, fin: true });
  client.send("wrangler tail ping");
  client.ping("are you there");
  const answered = new Promise<Buffer>((resolve) => client.once("pong", resolve));
  assert.equal((await answered).toString(), "are you there");
  // Only its pongs keep the connection open.
  await pinged;
  const told = new Promise((resolve) => client.once("message", (data) => resolve(String(data))));
  (await reader).write("still here");
  assert.equal(await told, "still here");
  client.terminate();
});

test("the response contains the key, the subprotocol trace-v1 only if requested, and no extension", async (t) => {
  const { port } = await open(t);
  const { status, head } = await rawClient(t, port, {
    headers: { "Sec-WebSocket-Protocol": "other, trace-v1", "Sec-WebSocket-Extensions": "permessage-deflate" },
  });
  assert.equal(status, 101);
  assert.match(head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
  assert.match(head, /Sec-WebSocket-Protocol: trace-v1\r\n/);
  assert.doesNotMatch(head, /Extensions/i);
  const plain = await rawClient(t, port);
  assert.equal(plain.status, 101);
  assert.doesNotMatch(plain.head, /Sec-WebSocket-Protocol/);
});

test("rejects an invalid handshake, an unknown tail and another path", async (t) => {
  const { port } = await open(t);
  const status = async (asked: Parameters<typeof rawClient>[2]) => (await rawClient(t, port, asked)).status;
  assert.equal(await status({ path: tailPath("f".repeat(32)) }), 404);
  assert.equal(await status({ path: tailPath("short") }), 404);
  assert.equal(await status({ path: `${tailPath(ID)}/more` }), 404);
  assert.equal(await status({ path: `${tailPath(ID)}?query` }), 101);
  assert.equal(await status({ headers: { "Sec-WebSocket-Key": undefined } }), 400);
  assert.equal(await status({ headers: { "Sec-WebSocket-Version": "8" } }), 426);
  assert.equal(await status({ method: "POST" }), 405);
});

test("reads fragmented messages and split frames, and echoes the close code", async (t) => {
  const { port, left } = await open(t);
  const client = await rawClient(t, port);
  const wire = Buffer.concat([
    masked(OPCODE.text, "a", false),
    masked(OPCODE.ping, "mid"),
    masked(OPCODE.continuation, "b"),
    masked(OPCODE.close, Buffer.from([0x0f, 0xa0])),
  ]);
  for (const byte of wire) client.socket.write(Uint8Array.of(byte));
  assert.deepEqual(await client.next(), { kind: "pong", payload: Buffer.from("mid") });
  assert.deepEqual(await client.next(), { kind: "close", code: 4000, reason: "" });
  assert.equal(await client.next(), undefined);
  await left;
});

const WRONG: [string, Uint8Array, number][] = [
  ["a compressed frame", Uint8Array.of(0xc1, 0x80, 0, 0, 0, 0), 1002],
  ["text that is not UTF-8", masked(OPCODE.text, Uint8Array.of(0xff)), 1007],
  ["a long frame", Uint8Array.of(0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0), 1009],
];
for (const [what, frame, code] of WRONG) {
  test(`${what} closes the connection with ${code}`, async (t) => {
    const { port, left } = await open(t);
    const client = await rawClient(t, port);
    client.socket.write(frame);
    const event = await client.next();
    assert.deepEqual([event?.kind, event?.kind === "close" && event.code], ["close", code]);
    client.socket.end(masked(OPCODE.close, ""));
    await left;
  });
}

test("pauses for a slow reader and continues when it catches up", async (t) => {
  const { port, reader, drains } = await open(t);
  const client = await rawClient(t, port);
  client.socket.pause();
  const connection = await reader;
  const text = "x".repeat(100_000);
  let written = 1;
  while (connection.write(text)) assert.ok(++written < 1000, "writes without end into a connection that nobody reads");
  const before = drains();
  client.socket.resume();
  for (let i = 0; i < written; i++) assert.deepEqual(await client.next(), { kind: "text", text });
  assert.ok(drains() > before);
});

test("closes a reader that stays silent for too long", async (t) => {
  const { port, left } = await open(t, { pingMs: 5 });
  const client = await rawClient(t, port);
  await left;
  assert.equal(await client.next(), undefined);
});

test("closes readers on shutdown and accepts no new ones", async (t) => {
  const { sockets, port, left } = await open(t);
  const client = await rawClient(t, port);
  sockets.close();
  assert.deepEqual(await client.next(), { kind: "close", code: 1001, reason: "the server is shutting down" });
  client.socket.end(masked(OPCODE.close, Buffer.from([3, 233])));
  await left;
  assert.equal((await rawClient(t, port)).status, 503);
});

test("drops a client that keeps sending after its close frame", { timeout: 60_000 }, async (t) => {
  const { port, left } = await open(t);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {}).resume();
  socket.write(
    `GET ${tailPath(ID)} HTTP/1.1\r\nHost: x\r\n${Object.entries(HANDSHAKE)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`,
  );
  await once(socket, "data");
  socket.write(masked(OPCODE.close, Buffer.from([3, 232])));
  const talking = setInterval(() => socket.write(masked(OPCODE.ping, "")), 50);
  t.after(() => (clearInterval(talking), socket.destroy()));
  await left;
});
