import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { spawnServe } from "../../test/support/serve.ts";
import { settingsSchema } from "../kernel/settings.ts";
import { hostOfSocket } from "./inherited-sockets.ts";
import { listenHosts } from "./listen-hosts.ts";
import type { ProcessRole } from "./roles.ts";
import { addressOfHex, addressOfSocket } from "./socket-address.ts";

const onLinux = { skip: process.platform !== "linux" && "needs /proc/self/net" };
const descriptorOf = (server: Server) => (server as unknown as { _handle: { fd: number } })._handle.fd;

async function listening(t: TestContext, at: string | { path: string }): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(typeof at === "string" ? { host: at, port: 0 } : at, resolve));
  t.after(() => void server.close());
  return descriptorOf(server);
}

test("reads the address of a socket from its descriptor", onLinux, async (t) => {
  for (const host of ["127.0.0.1", "0.0.0.0", "127.3.2.1", "::1", "::"])
    assert.equal(addressOfSocket(await listening(t, host)), host);
  assert.equal(
    addressOfSocket(await listening(t, { path: join(tmpdir(), `reelpost-address-${process.pid}.sock`) })),
    "local",
  );
  assert.equal(addressOfSocket(99_999), undefined);
});

test("parses proc(5) addresses in both byte orders", () => {
  assert.equal(addressOfHex("0100007F", "LE"), "127.0.0.1");
  assert.equal(addressOfHex("7F000001", "BE"), "127.0.0.1");
  assert.equal(addressOfHex("B80D0120000000000000000001000000", "LE"), "2001:db8::1");
  assert.equal(addressOfHex("0000000000000000FFFF00000100007F", "LE"), "127.0.0.1");
});

test("uses the address of an inherited socket, and treats an unreadable address as public", () => {
  const sockets = new Map([
    ["http", 3],
    ["smtp", 4],
  ]);
  const address = (fd: number) => (fd === 3 ? "192.0.2.7" : undefined);
  assert.equal(hostOfSocket("http", "127.0.0.1", sockets, address), "192.0.2.7");
  assert.equal(hostOfSocket("smtp", "127.0.0.1", sockets, address), "0.0.0.0");
  assert.equal(hostOfSocket("https", "127.0.0.1", sockets, address), "127.0.0.1");
  assert.equal(
    hostOfSocket("http", "0.0.0.0", sockets, () => "local"),
    "localhost",
  );
});

test("lists the address of every port that the roles open", () => {
  const settings = settingsSchema.parse({
    http: { host: "10.0.0.1" },
    dashboard: { host: "10.0.0.6" },
    smtp: { host: "10.0.0.2" },
    submission: { host: "10.0.0.3" },
    dns: { host: "10.0.0.4" },
    live: { host: "10.0.0.5" },
  });
  const hosts = (...roles: ProcessRole[]) =>
    listenHosts(settings, new Set(roles), new Map()).map((host) => host.at(-1));
  assert.deepEqual(hosts("api", "smtp", "dns", "live"), ["1", "6", "2", "3", "4", "5"]);
  assert.deepEqual(hosts("playback"), ["1"]);
});

test("rejects a public inherited socket without a secrets key and accepts one on loopback", onLinux, async (t) => {
  const env = { REELPOST_SECRETS_KEY: "", REELPOST_API_TOKEN: "" };
  await assert.rejects(
    spawnServe(t, { listening: await listening(t, "0.0.0.0"), env }),
    /Other machines can reach 0\.0\.0\.0/,
  );
  const { stop } = await spawnServe(t, { listening: await listening(t, "127.0.0.1"), env });
  assert.equal((await stop()).code, 0);
});
