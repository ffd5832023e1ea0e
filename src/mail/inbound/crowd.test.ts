import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { clock, rawClient, runUntilData } from "../mail.testing.ts";
import { listen, testCertificates } from "./listening.testing.ts";

/** Returns everything a socket receives until it ends. */
async function received(socket: Socket): Promise<string> {
  let text = "";
  socket
    .setEncoding("latin1")
    .on("data", (more: string) => (text += more))
    .on("error", () => {});
  await once(socket, "close");
  return text;
}

const from = (port: number, localAddress: string) => connect({ host: "127.0.0.1", port, localAddress });

test("limits a network to its share of connections while another network can still connect", async (t) => {
  const { port, listener } = await listen(t, { limits: { connections: 10, connectionsPerNetwork: 2 } });
  const held = [from(port, "127.0.0.2"), from(port, "127.0.0.2")];
  await Promise.all(held.map((socket) => once(socket, "data")));
  assert.equal(
    await received(from(port, "127.0.0.2")),
    "421 mx.test Too many connections from your network, try again later\r\n",
  );
  const other = from(port, "127.0.0.3");
  assert.match(String((await once(other, "data"))[0]), /^220 /);
  assert.equal(listener.connections, 3);
  for (const socket of [...held, other]) socket.destroy();
  while (listener.connections > 0) await tick();
  const again = from(port, "127.0.0.2");
  assert.match(String((await once(again, "data"))[0]), /^220 /);
  again.destroy();
});

test("when all slots are in use, a new client replaces an idle one, and active ones stay connected", async (t) => {
  const answer = Promise.withResolvers<void>();
  const { port, taken } = await listen(t, {
    limits: { connections: 4, connectionsPerNetwork: 4, minIdleMs: 10_000 },
    settle: async ({ to }) => (await answer.promise, to.map((rcpt) => ({ rcpt, ok: true }))),
  });
  const served = await runUntilData(port);
  served.send("x\r\n.\r\n");
  while (taken.length === 0) await tick();
  const idle = [from(port, "127.0.0.2"), from(port, "127.0.0.2"), from(port, "127.0.0.2")];
  await Promise.all(idle.map((socket) => once(socket, "data")));
  const ends = idle.map(received);
  // The network with three slots loses one of them.
  const good = from(port, "127.0.0.3");
  assert.match(String((await once(good, "data"))[0]), /^220 /);
  assert.equal(
    await Promise.race(ends),
    "421 4.3.2 Error: this server is busy and you were idle, closing connection\r\n",
  );
  // All networks now hold about the same number of connections, and no connection has been idle for long.
  await once(from(port, "127.0.0.4"), "data");
  assert.match(await received(from(port, "127.0.0.5")), /^421 mx\.test Too many connections, try again later/);
  clock.advance(10_000);
  const late = from(port, "127.0.0.5");
  assert.match(String((await once(late, "data"))[0]), /^220 /);
  answer.resolve();
  assert.match(await served.reply(), /^250 /);
  for (const socket of [...idle, good, late, served.socket]) socket.destroy();
});

test("treats a client that sends a message in a trickle as idle, but not one that sends steadily", async (t) => {
  const { port, spooledBytes } = await listen(t, {
    limits: { connections: 2, connectionsPerNetwork: 10, minIdleMs: 1000 },
  });
  const [flowing, dripping] = [await runUntilData(port), await runUntilData(port)];
  clock.advance(1000);
  flowing.send(`${"y".repeat(62)}\r\n`.repeat(100));
  dripping.send("y\r\n");
  while (spooledBytes() < 64 * 100 + 3) await tick();
  const newcomer = await rawClient(port);
  assert.match(await newcomer.reply(), /^220 /);
  assert.match(await dripping.reply(), /^421 4\.3\.2 /);
  assert.match(await flowing.say(".\r\n"), /^250 /);
  for (const { socket } of [flowing, newcomer]) socket.destroy();
});

// ---- PROXY

const V1 = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 25\r\n";
const V2 = Buffer.concat([
  Buffer.from("0d0a0d0a000d0a515549540a21210024", "hex"),
  Buffer.from("20010db8000000000000000000000007", "hex"),
  Buffer.alloc(16, 1),
  Buffer.from([0, 5, 0, 25]),
]);

for (const [name, header, ip] of [
  ["version 1", V1, "192.0.2.7"],
  ["version 2", V2, "2001:db8::7"],
  ["UNKNOWN", "PROXY UNKNOWN\r\n", "127.0.0.1"],
] as const) {
  test(`behind a proxy (${name}): uses the client address from the header, in one chunk or several, and STARTTLS works`, async (t) => {
    const { port, taken } = await listen(t, { proxies: ["127.0.0.0/8"], tls: testCertificates() });
    for (const manner of ["whole", "byte by byte"]) {
      const client = await rawClient(port);
      if (manner === "whole") client.send(Buffer.from(header as string, "latin1"));
      else
        for (const byte of Buffer.from(header as string, "latin1")) {
          client.send(Buffer.from([byte]));
          await tick();
        }
      assert.match(await client.reply(), /^220 /);
      assert.match(await client.say("EHLO x\r\n"), new RegExp(`^250-mx\\.test greets \\[${ip}\\]`));
      assert.match(await client.say("STARTTLS\r\n"), /^220 /);
      const secure = connectTls({ socket: client.socket, rejectUnauthorized: false });
      await once(secure, "secureConnect");
      const say = async (line: string) => (secure.write(`${line}\r\n`), String((await once(secure, "data"))[0]));
      await say("EHLO x");
      await say("MAIL FROM:<a@b.example>");
      await say("RCPT TO:<b@here.example>");
      await say("DATA");
      assert.match(await say("x\r\n."), /^250 /);
      secure.destroy();
    }
    assert.deepEqual(
      taken.map(({ envelope }) => envelope.ip),
      [ip, ip],
    );
  });
}

test("behind a proxy, limits apply to the proxy's clients, not to the proxy", async (t) => {
  const { port } = await listen(t, { proxies: ["127.0.0.1"], limits: { connections: 10, connectionsPerNetwork: 1 } });
  const clients = await Promise.all(
    ["192.0.2.1", "192.0.2.2", "192.0.2.1"].map(async (ip) => {
      const client = await rawClient(port);
      client.send(`PROXY TCP4 ${ip} 198.51.100.1 1 25\r\n`);
      return [await client.reply(), client] as const;
    }),
  );
  assert.deepEqual(
    clients.map(([reply]) => reply.slice(0, 3)),
    ["220", "220", "421"],
  );
  for (const [, { socket }] of clients) socket.destroy();
});

test("a proxy without a header gets no reply, and a PROXY header from another peer is an ordinary command", async (t) => {
  const { port, listener } = await listen(t, { proxies: ["127.0.0.1"], limits: { proxyMs: 100 } });
  for (const bytes of ["EHLO x\r\n", "PROXY TCP4 nonsense\r\n", "", `PROXY TCP4 ${"1".repeat(200)}`]) {
    const client = await rawClient(port);
    client.send(bytes);
    assert.equal(await client.rest(), "", JSON.stringify(bytes));
  }
  const gone = await rawClient(port);
  gone.socket.destroy();
  const other = from(port, "127.0.0.2");
  assert.match(String((await once(other, "data"))[0]), /^220 /);
  other.write(V1);
  assert.match(String((await once(other, "data"))[0]), /^500 5\.5\.2 /);
  other.destroy();
  while (listener.connections > 0) await tick();
});

// ---- TLS

async function secured(port: number, servername: string): Promise<TLSSocket> {
  const plain = await rawClient(port);
  await plain.reply();
  assert.match(await plain.say("EHLO x\r\n"), /250-STARTTLS/);
  assert.match(await plain.say("STARTTLS\r\n"), /^220 2\.0\.0 /);
  const secure = connectTls({ socket: plain.socket, servername, rejectUnauthorized: false });
  await once(secure, "secureConnect");
  return secure;
}

test("serves the certificate for the SNI name, and uses a new one without closing connections", async (t) => {
  const tls = testCertificates();
  const { port } = await listen(t, { tls });
  const [first, other] = [await secured(port, "mx.test"), await secured(port, "other.test")];
  assert.equal(first.getPeerCertificate().subject.CN, "mx.test");
  assert.equal(other.getPeerCertificate().subject.CN, "other.test");
  const before = first.getPeerCertificate().fingerprint256;
  tls.renew();
  const second = await secured(port, "mx.test");
  assert.notEqual(second.getPeerCertificate().fingerprint256, before);
  first.write("NOOP\r\n");
  assert.match(String((await once(first, "data"))[0]), /^250 /);
  for (const socket of [first, other, second]) socket.destroy();
});

test("rejects TLS before 1.2 (RFC 8996), and ends invalid and incomplete handshakes", async (t) => {
  const { port, listener } = await listen(t, { tls: testCertificates(), limits: { handshakeMs: 100 } });
  for (const bytes of ["", "not a handshake at all\r\n"]) {
    const client = await rawClient(port);
    await client.reply();
    await client.say("EHLO x\r\n");
    await client.say("STARTTLS\r\n");
    client.send(bytes);
    await client.rest();
    client.socket.destroy();
  }
  const plain = await rawClient(port);
  await plain.reply();
  await plain.say("EHLO x\r\n");
  await plain.say("STARTTLS\r\n");
  const secure = connectTls({
    socket: plain.socket,
    minVersion: "TLSv1.1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT:@SECLEVEL=0",
    rejectUnauthorized: false,
  });
  await assert.rejects(once(secure, "secureConnect"));
  secure.destroy();
  plain.socket.destroy();
  while (listener.connections > 0) await tick();
});
