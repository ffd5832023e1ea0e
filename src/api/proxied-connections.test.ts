import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { connect as connectTls, createSecureContext } from "node:tls";
import tlsOptions from "smtp-server/lib/tls-options";
import { createClientAddress } from "../kernel/client-address.ts";
import { silentLog } from "../kernel/index.ts";
import { networkSet } from "../kernel/networks.ts";
import { createProxyReceiver } from "../kernel/proxy-protocol/index.ts";
import { createPlatformHttp, type PlatformHttpOptions } from "./platform-http.ts";

const V1 = Buffer.from("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n");
const V2 = Buffer.concat([
  Buffer.from("0d0a0d0a000d0a515549540a21210024", "hex"),
  Buffer.from("20010db8000000000000000000000007", "hex"),
  Buffer.alloc(16, 1),
  Buffer.from([0, 5, 1, 187]),
]);
const LOCAL = Buffer.from("0d0a0d0a000d0a515549540a20000000", "hex");
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/** Starts a server that responds with the client's address and port. */
async function listen(
  t: TestContext,
  { headerMs = 30_000, ...options }: Partial<PlatformHttpOptions & { headerMs: number }> = {},
) {
  const refusals: string[] = [];
  const address = createClientAddress([]);
  const server = createPlatformHttp({
    hosts: { domain: "localhost" },
    pages: { "/": (request, response) => void response.end(`${address.ip(request)} ${request.socket.remotePort}`) },
    log: silentLog,
    graceMs: 0,
    receive: createProxyReceiver({
      isProxy: networkSet(["127.0.0.1"], () => new Error()),
      headerMs,
      maxPending: 20,
      onRefused: (_, reason) => refusals.push(reason),
    }),
    ...options,
  });
  t.after(() => server.close());
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const pem = { key: tlsOptions({}).key as string, cert: tlsOptions({}).cert as string };
  const { port: securePort } = await server.listen({ host: "127.0.0.1", port: 0 }, {
    pem: () => pem,
    context: () => createSecureContext(pem),
    onChange: () => () => {},
  } as never);
  const open = async (to: number, localAddress = "127.0.0.1") => {
    const socket = connect({ port: to, host: "127.0.0.1", localAddress });
    t.after(() => socket.destroy());
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  return { port, securePort, open, refusals };
}

async function bodyOf(socket: Socket): Promise<string> {
  let text = "";
  while (!/\r\n\r\n.+/s.test(text)) text += String((await once(socket, "data"))[0]);
  return text.split("\r\n\r\n")[1]!;
}

for (const [name, header, expected] of [
  ["version 1", V1, "192.0.2.7 56324"],
  ["version 2", V2, "2001:db8::7 5"],
  ["LOCAL", LOCAL, undefined],
] as const)
  test(`HTTP behind a proxy (${name}) uses the client address in the header, which may arrive in one chunk or several`, async (t) => {
    const { port, open } = await listen(t);
    for (const manner of ["one chunk", "two chunks", "byte by byte"]) {
      const socket = await open(port);
      if (manner === "one chunk") socket.write(Buffer.concat([header, Buffer.from(GET)]));
      else if (manner === "two chunks") {
        socket.write(header);
        for (let n = 0; n < 5; n++) await tick();
        socket.write(GET);
      } else
        for (const byte of Buffer.concat([header, Buffer.from(GET)])) {
          socket.write(Buffer.from([byte]));
          await tick();
        }
      const client = expected ?? `127.0.0.1 ${socket.localPort}`;
      assert.equal(await bodyOf(socket), client);
      // More requests on the same connection, with a body.
      socket.write("GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc");
      assert.equal(await bodyOf(socket), client);
    }
  });

test("HTTPS behind a proxy uses the client address in the header", async (t) => {
  const { securePort, open } = await listen(t);
  for (const [header, client] of [
    [V1, "192.0.2.7 56324"],
    [V2, "2001:db8::7 5"],
  ] as const) {
    const socket = await open(securePort);
    socket.write(header);
    const secure = connectTls({ socket, rejectUnauthorized: false });
    await once(secure, "secureConnect");
    secure.write(GET);
    assert.equal(await bodyOf(secure), client);
    secure.destroy();
  }
});

test("limits apply to the clients behind a proxy, and other peers need no header", async (t) => {
  const { port, open } = await listen(t, { connections: { total: 10, perNetwork: 1 } });
  const send = async (ip: string) => {
    const socket = await open(port);
    socket.write(`PROXY TCP4 ${ip} 198.51.100.1 1 80\r\n${GET}`);
    return String((await once(socket, "data"))[0]).slice(9, 12);
  };
  assert.deepEqual([await send("192.0.2.1"), await send("192.0.2.2"), await send("192.0.2.1")], ["200", "200", "503"]);
  const other = await open(port, "127.0.0.2");
  other.write(GET);
  assert.match(await bodyOf(other), /^127\.0\.0\.2 /);
  // A header from a peer that is not a proxy is an invalid request.
  const forged = await open(port, "127.0.0.3");
  forged.write(Buffer.concat([V1, Buffer.from(GET)]));
  assert.match(String((await once(forged, "data"))[0]), /^HTTP\/1\.1 400 /);
});

for (const [name, bytes] of Object.entries({
  "no header": GET,
  "an invalid header": "PROXY TCP4 nonsense\r\n",
  "a line that is too long": `PROXY TCP4 ${"1".repeat(200)}`,
  "a version 2 header that is too long": Buffer.concat([
    V2.subarray(0, 14),
    Buffer.from([0xff, 0xff]),
    Buffer.alloc(8192),
  ]),
  "an incomplete header": "PROXY TCP4 192.0.2.7 ",
  "no octets": "",
}))
  test(`closes the connection of a proxy that sends ${name}, without a reply`, async (t) => {
    const { port, securePort, open, refusals } = await listen(t, { headerMs: 200 });
    for (const to of [port, securePort]) {
      const socket = await open(to);
      const received: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => received.push(chunk));
      socket.write(bytes);
      await once(socket, "close");
      assert.deepEqual(received, []);
    }
    assert.equal(refusals.length, 2);
  });

test("limits the number of connections whose header has not arrived", async (t) => {
  const refusals: string[] = [];
  const { port, open } = await listen(t, {
    receive: createProxyReceiver({
      isProxy: () => true,
      maxPending: 2,
      headerMs: 60_000,
      onRefused: (_, reason) => refusals.push(reason),
    }),
  });
  const waiting = [await open(port), await open(port)];
  const third = await open(port);
  await once(third, "close");
  assert.match(refusals[0]!, /^2 connections are waiting/);
  waiting[0]!.write(Buffer.concat([V1, Buffer.from(GET)]));
  assert.equal(await bodyOf(waiting[0]!), "192.0.2.7 56324");
  const fourth = await open(port);
  fourth.write(Buffer.concat([V1, Buffer.from(GET)]));
  assert.equal(await bodyOf(fourth), "192.0.2.7 56324");
  waiting[1]!.destroy();
});
