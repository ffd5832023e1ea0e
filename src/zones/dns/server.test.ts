import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { setImmediate as nextRound, setTimeout as sleep } from "node:timers/promises";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { testQuery } from "../../protocol/dns/message.testing.ts";
import { EXAMPLE, zonesOf } from "./dns.testing.ts";
import { createRateLimit } from "./rate-limit.ts";
import { startDnsServer, type DnsServerOptions } from "./server.ts";

async function start(t: TestContext, options: Partial<DnsServerOptions> = {}) {
  const server = await startDnsServer({
    zones: zonesOf({ "example.com": EXAMPLE, "apex.example": "@ CNAME www.example.com.\n" }),
    log: silentLog,
    hosts: ["127.0.0.1"],
    port: 0,
    ...options,
  });
  t.after(() => server.close());
  return server;
}

const query = (name = "example.com", type = "MX", id = 1) => testQuery({ name, type, id });
const framed = (message: Buffer) => Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]);

/** Reads complete messages from a TCP connection until `count` have arrived or it ends. */
async function messages(socket: Socket, count: number): Promise<Buffer[]> {
  const found: Buffer[] = [];
  let buffered = Buffer.alloc(0);
  const ended = new AbortController();
  socket.once("close", () => ended.abort());
  while (found.length < count) {
    const [chunk] = (await once(socket, "data", { signal: ended.signal }).catch(() => [])) as Buffer[];
    if (chunk === undefined) break;
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      found.push(buffered.subarray(2, 2 + buffered.readUInt16BE(0)));
      buffered = buffered.subarray(2 + buffered.readUInt16BE(0));
    }
  }
  return found;
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(async () => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

async function answered(socket: Socket): Promise<void> {
  socket.write(framed(query()));
  assert.equal((await messages(socket, 1)).length, 1);
}

describe("the DNS server", () => {
  test("answers Node's resolver over UDP, and large answers over TCP", async (t) => {
    const { port } = await start(t);
    const resolver = new Resolver({ timeout: 20_000, tries: 2 });
    resolver.setServers([`127.0.0.1:${port}`]);
    assert.deepEqual(
      (await resolver.resolveMx("example.com")).map(({ exchange }) => exchange),
      ["mx1.example.com", "mx2.mail.example.com", "mx.elsewhere.example"],
    );
    assert.deepEqual(await resolver.resolve4("www.example.com"), ["192.0.2.80", "192.0.2.81"]);
    assert.deepEqual(await resolver.resolve4("apex.example"), ["192.0.2.80", "192.0.2.81"]);
    assert.equal((await resolver.resolveTxt("large.example.com"))[0]!.length, 20);
    assert.deepEqual(await resolver.resolveSrv("_sip._tcp.example.com"), [
      { name: "web.example.com", port: 5060, priority: 10, weight: 5, type: "SRV" },
    ]);
    await assert.rejects(resolver.resolve4("nope.example.com"), { code: "ENOTFOUND" });
    await assert.rejects(resolver.resolve4("_dmarc.example.com"), { code: "ENODATA" });
    await assert.rejects(resolver.resolve4("example.net"), { code: "EREFUSED" });
  });

  test("answers pipelined queries on one connection, even if they arrive byte by byte or after a half-close", async (t) => {
    const { port } = await start(t);
    const socket = await open(t, port);
    const all = Buffer.concat(Array.from({ length: 100 }, (_, id) => framed(query("example.com", "MX", id))));
    socket.setNoDelay(true);
    for (let at = 0; at < 60; at++) {
      socket.write(all.subarray(at, at + 1));
      // The server runs in this process; this gives it time to read in between.
      await nextRound();
    }
    socket.end(all.subarray(60));
    const ids = (await messages(socket, 100)).map((message) => message.readUInt16BE(0));
    assert.deepEqual(
      ids.sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, id) => id),
    );
  });

  test("answers at most 32 queries on a connection concurrently, and the rest afterwards", async (t) => {
    const held: (() => void)[] = [];
    let full = () => {};
    const pending = new Promise<void>((resolve) => (full = resolve));
    const zones = zonesOf({ "example.com": EXAMPLE });
    let free = false;
    const slow = {
      ...zones,
      find: async (name: string) => {
        if (!free) await new Promise<void>((resolve) => void (held.push(resolve) === 32 && full()));
        return zones.find(name);
      },
    };
    const { port } = await start(t, { zones: slow });
    const socket = await open(t, port);
    const batch = (from: number) =>
      Buffer.concat(Array.from({ length: 100 }, (_, id) => framed(query("web.example.com", "A", from + id))));
    socket.write(batch(0));
    await pending;
    socket.end(batch(100));
    for (let round = 0; round < 20; round++) await nextRound();
    assert.equal(held.length, 32);
    free = true;
    for (const release of held) release();
    assert.equal((await messages(socket, 200)).length, 200);
  });

  test("keeps a connection open that sends queries regularly", async (t) => {
    // The total exceeds the idle limit, but each pause is shorter.
    const { port } = await start(t, { tcp: { idleMs: 4000 } });
    const socket = await open(t, port);
    for (let time = 0; time < 4; time++) {
      await answered(socket);
      await sleep(1100);
    }
    await answered(socket);
  });

  test("closes a connection that is idle, sends too slowly, or sends something other than a query", async (t) => {
    const { port } = await start(t, { tcp: { idleMs: 150 } });
    const silent = await open(t, port);
    const slow = await open(t, port);
    const timer = setInterval(() => slow.write(Buffer.from([0])), 40);
    slow.write(Buffer.from([0, 100]));
    t.after(async () => clearInterval(timer));
    const [answers, long, junk] = [await open(t, port), await open(t, port), await open(t, port)];
    answers.write(framed(Buffer.from(query()).fill(0x80, 2, 3)));
    long.write(Buffer.from([0xff, 0xff, 1, 2]));
    junk.write(Buffer.from([0, 3, 1, 2, 3]));
    for (const socket of [silent, slow, answers, long, junk]) if (!socket.closed) await once(socket.resume(), "close");
  });

  test("limits the number of connections, and closes the longest idle one for a new one", async (t) => {
    const { port } = await start(t, { tcp: { connections: 3, perNetwork: 100 } });
    const sockets = [await open(t, port), await open(t, port), await open(t, port)] as const;
    for (const socket of [sockets[1], sockets[2], sockets[0]]) await answered(socket);
    const fourth = await open(t, port);
    await once(sockets[1].resume(), "close");
    for (const socket of [sockets[0], sockets[2], fourth]) await answered(socket);
  });

  test("one network cannot use all connections", async (t) => {
    const { port } = await start(t, { tcp: { perNetwork: 2 } });
    const sockets = [await open(t, port), await open(t, port)];
    for (const socket of sockets) await answered(socket);
    await once((await open(t, port)).resume(), "close");
    sockets[0]!.end();
    await once(sockets[0]!.resume(), "close");
    await answered(await open(t, port));
  });

  test("limits the UDP response rate per network, and above it truncates every second response and drops the others", async (t) => {
    const clock = createManualClock(1_000_000);
    const { port } = await start(t, { clock, rateLimit: { perSecond: 1, burst: 5 } });
    const socket = createSocket("udp4");
    t.after(async () => void socket.close());
    const replies: Buffer[] = [];
    const seven = new Promise<void>((resolve) =>
      socket.on("message", (message) => void (replies.push(message) === 7 && resolve())),
    );
    for (let id = 0; id < 9; id++) socket.send(query("web.example.com", "A", id), port, "127.0.0.1");
    await seven;
    const kinds = replies.map((reply) => ((reply[2]! & 2) === 0 ? "answer" : `TC ${reply.length}`));
    assert.deepEqual(kinds.sort(), [...Array<string>(2).fill("TC 12"), ...Array<string>(5).fill("answer")]);
  });

  test("stops listening after close, and reports a port in use", async (t) => {
    const server = await start(t);
    await assert.rejects(
      startDnsServer({ zones: zonesOf({}), log: silentLog, hosts: ["127.0.0.1"], port: server.port }),
      { code: "EADDRINUSE" },
    );
    const socket = await open(t, server.port);
    const closed = once(socket.resume(), "close");
    await server.close();
    await closed;
    const again = await start(t, { port: server.port });
    assert.equal(again.port, server.port);
  });
});

test("each network has its own token bucket, which refills, in a table of limited size", () => {
  const clock = createManualClock();
  const limit = createRateLimit({ perSecond: 10, burst: 2 }, clock, 3);
  const four = (address: string) => [1, 2, 3, 4].map(() => limit(address));
  assert.deepEqual(four("192.0.2.1"), ["answer", "answer", "truncate", "drop"]);
  assert.deepEqual(
    [limit("192.0.2.200"), limit("::ffff:192.0.2.3"), limit("192.0.3.1")],
    ["truncate", "drop", "answer"],
  );
  assert.deepEqual(four("2001:db8:0:aa00::1"), ["answer", "answer", "truncate", "drop"]);
  assert.deepEqual([limit("2001:db8:0:aaff::2"), limit("2001:db8:0:ab00::2")], ["truncate", "answer"]);
  clock.advance(100);
  assert.deepEqual([limit("2001:db8:0:aa00::1"), limit("2001:db8:0:aa00::1")], ["answer", "truncate"]);
  assert.deepEqual(four("192.0.2.1"), ["answer", "answer", "truncate", "drop"], "evicted by three other clients");
});

const has = (program: string) => spawnSync(program, ["-v"]).error === undefined;

for (const program of ["dig", "kdig"]) {
  const missing = !has(program);
  if (missing)
    process.stderr.write(
      `!! ${program} is not installed, its part of this suite is skipped. To install it: node scripts/system.ts test\n`,
    );
  describe(
    program,
    { skip: missing && process.env["REQUIRE_ALL"] !== "1" ? `${program} is not installed` : false },
    () => {
      const run = (port: number, ...args: string[]) =>
        runProgram(program, ["@127.0.0.1", "-p", String(port), "+norec", ...args]);

      test("serves every record type as it was created", async (t) => {
        const { port } = await start(t);
        const short = async (name: string, type: string) => (await run(port, "+short", name, type)).trim();
        assert.equal((await short("_25._tcp.mx1.example.com", "TLSA")).replaceAll(" ", ""), `311${"AB".repeat(32)}`);
        assert.match(
          await short("loc.example.com", "LOC"),
          /^42 21 54\.500 N +71 0?6 18(\.000)? W +-24(\.00)?m +30(\.00)?m 10000(\.00)?m 10(\.00)?m$/,
        );
        assert.equal(await short("caa.example.com", "CAA"), '0 issue "letsencrypt.org"');
        assert.equal(await short("naptr.example.com", "NAPTR"), '100 10 "s" "SIP+D2T" "" _sip._tcp.example.com.');
        assert.match(await short("svc.example.com", "TYPE65"), /192\.0\.2\.9|C0000209/i);
        assert.match(
          await run(port, "sub.example.com", "A"),
          /sub\.example\.com\.\s+120\s+IN\s+NS\s+ns\.sub\.example\.com\./,
        );
      });

      test("dig retries over TCP and negotiates EDNS without warnings", async (t) => {
        const { port } = await start(t);
        assert.match(await run(port, "large.example.com", "TXT"), /xxxx19"/);
        assert.match(await run(port, "+noedns", "+ignore", "large.example.com", "TXT"), /flags: qr aa tc/i);
        assert.match(
          await run(port, "+edns=1", ...(program === "dig" ? ["+noednsneg"] : []), "example.com"),
          /BADVERS/,
        );
        assert.match(await run(port, "example.com", "ANY"), /HINFO\s+"RFC8482" ""/);
        assert.match(
          await run(
            port,
            ...(program === "dig" ? ["CH", "TXT", "version.bind"] : ["-c", "CH", "-t", "TXT", "version.bind"]),
          ),
          /REFUSED/,
        );
        for (const name of [
          "www.example.com",
          "x.wild.example.com",
          "nope.example.com",
          "sub.example.com",
          "example.com",
        ])
          assert.doesNotMatch(await run(port, name, "MX"), /warning|malformed|mismatch/i, name);
      });
    },
  );
}

async function runProgram(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
  await once(child, "close");
  return out;
}
