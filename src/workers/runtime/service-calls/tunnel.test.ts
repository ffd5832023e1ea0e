import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openTunnel } from "./tunnel.ts";

/** A Call message: one segment with the root pointer and the union. */
const CALL = Buffer.from("000000000200000000000000010000000200000000000000", "hex");
/** A Return and a Resolve with an exception: the root pointer, the union, and a struct whose union is `exception`. */
const THROWN = Buffer.from("00000000040000000000000001000100030000000000000000000000010000000000000000000100", "hex");
const ABORTED = Buffer.from("00000000040000000000000001000100050000000000000000000000010000000000000001000000", "hex");
const FINISH = Buffer.from("000000000200000000000000010000000400000000000000", "hex");
/** Longer than the time for which a retired connection stays open without calls. */
const BLOCKED_MS = 2_200;

async function listen(t: TestContext, server: Server, path: string): Promise<Server> {
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  return server;
}

async function start(t: TestContext, { maxHoldMs }: { maxHoldMs?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "tunnel-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const received: Buffer[] = [];
  const connections: Socket[] = [];
  const target = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      connections.push(socket);
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.on("data", (chunk: Buffer) => void received.push(chunk));
    });
  });
  await listen(t, target, join(folder, "target"));
  const callers = createServer();
  await listen(t, callers, join(folder, "caller"));
  const client = connect(join(folder, "caller"));
  client.on("error", () => {});
  const [caller] = (await once(callers, "connection")) as [Socket];
  const busy: string[] = [];
  const state = { isCallerIdle: true, isTargetAsleep: false };
  const tunnel = openTunnel({
    caller,
    socketPath: join(folder, "target"),
    isCallerIdle: () => state.isCallerIdle,
    isTargetAsleep: () => state.isTargetAsleep,
    ...(maxHoldMs !== undefined && { maxHoldMs }),
    onBusy: () => void busy.push("busy"),
    onIdle: () => void busy.push("idle"),
  });
  t.after(() => client.destroy());
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  };
  await until(() => connections.length === 1);
  return { client, target: connections[0]!, tunnel, busy, received, state, until };
}

/** Sends a call that throws; the caller finishes it as soon as it has received the exception. */
async function callThrowing({ client, target, received, until }: Awaited<ReturnType<typeof start>>): Promise<void> {
  client.write(CALL);
  await until(() => received.length > 0);
  received.length = 0;
  target.write(THROWN);
  await once(client, "data");
  await new Promise<void>((resolve) => void client.write(FINISH, () => resolve()));
}

test("a retired connection delivers a call that arrived while the event loop was blocked", async (t) => {
  const { client, tunnel, busy, received, until } = await start(t);
  let isClosed = false;
  void tunnel.closed.then(() => void (isClosed = true));
  tunnel.retire();
  // The system buffers the call. When the event loop continues, the timer of the quiet connection is due, too.
  client.write(CALL);
  const blockedUntil = performance.now() + BLOCKED_MS;
  while (performance.now() < blockedUntil) continue;
  await until(() => isClosed || received.length > 0);
  assert.deepEqual([isClosed, Buffer.concat(received), busy], [false, CALL, ["busy"]]);
});

test("a retired connection without pending calls is closed once its caller has no running invocation", async (t) => {
  const { client, tunnel, received, state, until } = await start(t);
  let isClosed = false;
  void tunnel.closed.then(() => void (isClosed = true));
  state.isCallerIdle = false;
  tunnel.retire();
  // The connection is due to be closed, but the invocation of the caller may still send a call.
  const blockedUntil = performance.now() + BLOCKED_MS;
  while (performance.now() < blockedUntil) continue;
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  client.write(CALL);
  await until(() => isClosed || received.length > 0);
  assert.equal(isClosed, false);
});

test("a retired connection of an idle caller without pending calls is closed", async (t) => {
  const { client, tunnel } = await start(t);
  tunnel.retire();
  await Promise.all([tunnel.closed, once(client, "close")]);
});

test("after an exception, the caller cannot finish the call before the target has aborted the session", async (t) => {
  const tunnel = await start(t, { maxHoldMs: 60_000 });
  await callThrowing(tunnel);
  // Enough for a message that is passed on.
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(tunnel.received.length, 0);
  tunnel.target.write(ABORTED);
  await tunnel.until(() => tunnel.received.length > 0);
  assert.deepEqual([Buffer.concat(tunnel.received), tunnel.busy], [FINISH, ["busy", "idle"]]);
});

test("after an exception without an abort, the caller waits until the target is asleep", async (t) => {
  const tunnel = await start(t, { maxHoldMs: 60_000 });
  await callThrowing(tunnel);
  tunnel.state.isTargetAsleep = true;
  await tunnel.until(() => tunnel.received.length > 0);
  assert.deepEqual(Buffer.concat(tunnel.received), FINISH);
});

test("after an exception, the caller waits for a busy target only for a limited time", async (t) => {
  const tunnel = await start(t);
  await callThrowing(tunnel);
  await tunnel.until(() => tunnel.received.length > 0);
  assert.deepEqual(Buffer.concat(tunnel.received), FINISH);
});

test("a caller that ends its connection after an exception is disconnected once the target is asleep", async (t) => {
  const tunnel = await start(t, { maxHoldMs: 60_000 });
  await callThrowing(tunnel);
  tunnel.client.end();
  tunnel.state.isTargetAsleep = true;
  await tunnel.tunnel.closed;
  await tunnel.until(() => tunnel.received.length > 0);
  assert.deepEqual(Buffer.concat(tunnel.received), FINISH);
});
