import assert from "node:assert/strict";
import { request } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { connectTo, EgressDenied } from "./connect.ts";
import { SERVE_EGRESS } from "./egress.testing.ts";
import { createEgressCheck } from "./policy.ts";
import { startEgressProxy } from "./proxy.ts";

/** Counts connections. */
async function listener(
  t: TestContext,
  host: string,
  port: number,
): Promise<{ server: Server; port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve, reject) => void server.once("error", reject).listen(port, host, resolve));
  t.after(() => server.close());
  return { server, port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Listens on the same port of both addresses. Another process may use the port on the second one. */
async function listeners(t: TestContext, [first, second]: [string, string]) {
  for (;;) {
    const one = await listener(t, first, 0);
    const other = await listener(t, second, one.port).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== "EADDRINUSE") throw err;
    });
    if (other !== undefined) return [one, other] as const;
  }
}

test("never connects to a denied address that a name resolves to, even if a server listens there", async (t) => {
  const [denied, allowed] = await listeners(t, ["127.0.0.2", "127.0.0.1"]);
  const check = createEgressCheck({ ...SERVE_EGRESS, allow: ["127.0.0.1"] });
  for (const addresses of [
    ["127.0.0.2", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.2"],
  ]) {
    const socket = await connectTo(
      { host: "mixed.example", port: denied.port, tls: false },
      { check, lookup: async () => addresses },
    );
    assert.equal(socket.remoteAddress, "127.0.0.1");
    socket.destroy();
  }
  assert.equal(denied.connections(), 0);
  assert.ok(allowed.connections() <= 2);
  await assert.rejects(
    connectTo({ host: "denied.example", port: denied.port, tls: false }, { check, lookup: async () => ["127.0.0.2"] }),
    EgressDenied,
  );
  assert.equal(denied.connections(), 0);
});

test("tries the next allowed address if one refuses the connection, up to four", async (t) => {
  const open = await listener(t, "127.0.0.9", 0);
  const check = createEgressCheck({ ...SERVE_EGRESS, allow: ["127.0.0.0/8"] });
  const at = (n: number) => `127.0.0.${n}`;
  const socket = await connectTo(
    { host: "many.example", port: open.port, tls: false },
    { check, lookup: async () => [at(2), at(3), at(4), at(9)] },
  );
  assert.equal(socket.remoteAddress, at(9));
  socket.destroy();
  await assert.rejects(
    connectTo(
      { host: "many.example", port: open.port, tls: false },
      { check, lookup: async () => [at(2), at(3), at(4), at(5), at(9)] },
    ),
  );
});

test("refuses connections above the limit per worker until one closes", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "egress-"));
  const origin = await listener(t, "127.0.0.1", 0);
  const socketPath = join(folder, "s");
  const check = createEgressCheck({ ...SERVE_EGRESS, allow: ["127.0.0.1"] });
  const proxy = await startEgressProxy({
    socket: socketPath,
    check,
    actions: async () => {},
    onActivity() {},
    maxConnections: 2,
  });
  t.after(async () => {
    await proxy.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tunnel = () =>
    new Promise<{ status: number; close(): Promise<void> }>((resolve, reject) => {
      const requested = request({ socketPath, method: "CONNECT", path: `127.0.0.1:${origin.port}` });
      requested.once("error", reject).once("connect", (response, socket) => {
        socket.on("error", () => {});
        const closed = new Promise<void>((done) => socket.once("close", () => done()));
        resolve({ status: response.statusCode!, close: () => (socket.destroy(), closed) });
      });
      requested.end();
    });
  const [first, second] = [await tunnel(), await tunnel()];
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal((await tunnel()).status, 403);
  await first.close();
  // The proxy notices the closed connection with a short delay.
  let third = await tunnel();
  while (third.status !== 200) third = await tunnel();
  await Promise.all([second.close(), third.close()]);
});
