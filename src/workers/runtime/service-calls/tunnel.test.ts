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
/** Longer than a retired connection stays open without calls. */
const BLOCKED_MS = 2_200;

async function listen(t: TestContext, server: Server, path: string): Promise<Server> {
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  return server;
}

async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "tunnel-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const received: Buffer[] = [];
  let connections = 0;
  const target = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      connections++;
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
  const state = { isCallerIdle: true };
  const tunnel = openTunnel({
    caller,
    socketPath: join(folder, "target"),
    isCallerIdle: () => state.isCallerIdle,
    onBusy: () => void busy.push("busy"),
    onIdle: () => void busy.push("idle"),
  });
  t.after(() => client.destroy());
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  };
  await until(() => connections === 1);
  return { client, tunnel, busy, received, state, until };
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
