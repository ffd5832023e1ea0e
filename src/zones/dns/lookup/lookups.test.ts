import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { createManualClock, silentLog, systemClock } from "../../../kernel/index.ts";
import { EXAMPLE, zonesOf } from "../dns.testing.ts";
import { startDnsServer } from "../server.ts";
import { createLookups, type LookupsOptions } from "./lookups.ts";
import { startScriptedServer, type Script } from "./scripted-server.testing.ts";
import { readEndpoint } from "./upstream.ts";

async function lookups(t: TestContext, servers: Script[], options: Partial<LookupsOptions> = {}) {
  const started = await Promise.all(servers.map((script) => startScriptedServer(t, script)));
  const made = createLookups({
    servers: started.map(({ port }) => ({ host: "127.0.0.1", port })),
    clock: systemClock,
    log: silentLog,
    attemptMs: 3000,
    ...options,
  });
  t.after(() => made.close());
  return Object.assign(made, { servers: started });
}

const a = (name: string, data: string, ttl = 60) => ({ name, type: "A" as const, ttl, data });
const cname = (name: string, data: string, ttl = 60) => ({ name, type: "CNAME" as const, ttl, data });
const soa = (name: string, minimum: number) => ({
  name,
  type: "SOA" as const,
  ttl: 3600,
  data: { primary: "ns", mailbox: "h", minimum },
});

describe("lookups", () => {
  test("return the same results as node:dns for the responses of a real server", async (t) => {
    const server = await startDnsServer({
      zones: zonesOf({ "example.com": EXAMPLE }),
      log: silentLog,
      hosts: ["127.0.0.1"],
      port: 0,
      rateLimit: null,
    });
    t.after(() => server.close());
    const { resolve, resolveMx, resolve4, resolve6, resolveTxt, query } = createLookups({
      servers: [{ host: "127.0.0.1", port: server.port }],
      clock: systemClock,
      log: silentLog,
    });
    assert.deepEqual((await resolveMx("Example.COM.")).sort((x, y) => x.priority - y.priority)[0], {
      priority: 10,
      exchange: "mx1.example.com",
    });
    assert.deepEqual((await resolve4("www.example.com")).sort(), ["192.0.2.80", "192.0.2.81"]);
    assert.deepEqual(await resolve6("mx1.example.com"), ["2001:db8::1"]);
    assert.deepEqual(await resolveTxt("_dmarc.example.com"), [["v=DMARC1; p=quarantine;"]]);
    assert.deepEqual(await resolve("www.example.com", "CNAME"), ["web.example.com"]);
    // The records are too large for a datagram, so they arrive over TCP.
    assert.equal((await resolveTxt("large.example.com"))[0]!.length, 20);
    assert.deepEqual(
      (await query("_25._tcp.mx1.example.com", "TLSA")).records.map(({ data }) => (data as { usage: number }).usage),
      [3],
    );
    await assert.rejects(resolve4("nope.example.com"), { code: "ENOTFOUND" });
    await assert.rejects(resolve4("away.example.com"), { code: "ENOTFOUND" });
    await assert.rejects(resolve4("_dmarc.example.com"), { code: "ENODATA" });
    for (const type of ["A", "TXT", "MX"] as const)
      await assert.rejects(resolve("loop1.example.com", type), { code: "ESERVFAIL", message: /CNAME loop/ });
    // This server does not follow the delegation: a resolver that only returns a referral is lame.
    await assert.rejects(resolve4("www.sub.example.com"), { code: "ESERVFAIL", message: /referral/ });
    await assert.rejects(resolve4("elsewhere.example.net"), { code: "EREFUSED" });
  });

  test("accept a response that arrived during a stall of the event loop", async (t) => {
    const { resolve4, servers } = await lookups(
      t,
      [
        ({ name }) => {
          setImmediate(() => {
            for (const end = performance.now() + 400; performance.now() < end;);
          });
          return { answers: [a(name, "192.0.2.1")] };
        },
      ],
      { attemptMs: 300 },
    );
    assert.deepEqual(await resolve4("stalled.example"), ["192.0.2.1"]);
    assert.deepEqual(servers[0]!.queries, ["stalled.example A"]);
  });

  test("try another server after a failure, refusal, referral or timeout, and report when all fail", async (t) => {
    const good: Script = ({ name }) => ({ answers: [a(name, "192.0.2.1")] });
    for (const bad of [
      () => ({ rcode: "SERVFAIL" }),
      () => ({ rcode: "REFUSED" }),
      () => ({ recursive: false }),
      () => undefined,
    ] as Script[]) {
      const { resolve4, servers } = await lookups(t, [bad, good], { attemptMs: 1000 });
      assert.deepEqual(await resolve4("x.test"), ["192.0.2.1"]);
      assert.deepEqual(await resolve4("y.test"), ["192.0.2.1"]);
      assert.equal(servers[0]!.queries.length, 1, "the server that responded is queried first from then on");
    }
    const code = async (script: Script) =>
      (await lookups(t, [script, script], { attemptMs: 300 })).resolve4("x.test").then(
        () => "",
        (err: { code: string }) => err.code,
      );
    assert.equal(await code(() => ({ rcode: "SERVFAIL" })), "ESERVFAIL");
    assert.equal(await code(() => ({ rcode: "REFUSED" })), "EREFUSED");
    assert.equal(await code(() => undefined), "ETIMEOUT");
    await assert.rejects(
      createLookups({ servers: [{ host: "127.0.0.1", port: 1 }], clock: systemClock, log: silentLog }).resolve4(
        "x.test",
      ),
      { code: "ESERVFAIL" },
    );
    await assert.rejects(createLookups({ servers: [], clock: systemClock, log: silentLog }).resolve4("x.test"), {
      code: "ESERVFAIL",
      message: /no resolver/,
    });
  });

  test("retry once if a server does not respond, and without EDNS if a server does not support it", async (t) => {
    let first = true;
    const flaky = await lookups(
      t,
      [
        ({ name }) => {
          if (first) return void (first = false);
          return { answers: [a(name, "192.0.2.1")] };
        },
      ],
      { attemptMs: 1000 },
    );
    assert.deepEqual(await flaky.resolve4("x.test"), ["192.0.2.1"]);
    const old = await lookups(t, [
      ({ name, edns }) => (edns ? { rcode: "FORMERR" } : { answers: [a(name, "192.0.2.2")] }),
    ]);
    assert.deepEqual(await old.resolve4("x.test"), ["192.0.2.2"]);
  });

  test("ignore malformed answers, and answers to another question or with another id", async (t) => {
    const { resolve4, servers } = await lookups(t, [
      ({ name }) => ({
        answers: [a(name, "192.0.2.1")],
        before: [
          { id: 1, answers: [a(name, "192.0.2.66")] },
          { question: "evil.test", answers: [a("evil.test", "192.0.2.66")] },
          { raw: Buffer.from("no message") },
          { raw: Buffer.alloc(0) },
        ],
      }),
    ]);
    assert.deepEqual(await resolve4("x.test"), ["192.0.2.1"]);
    assert.equal(servers[0]!.queries.length, 1);
  });

  test("ignore records with other names", async (t) => {
    const { resolve4 } = await lookups(t, [() => ({ answers: [a("victim.test", "192.0.2.66")] })]);
    await assert.rejects(resolve4("x.test"), { code: "ENODATA" });
  });

  test("follow at most ten aliases, within an answer and across answers", async (t) => {
    const { resolve4 } = await lookups(t, [
      ({ name }) => {
        const number = /^n(\d+)\./.exec(name)?.[1];
        if (name === "a.test")
          return { answers: [cname("a.test", "b.test"), cname("b.test", "C.test"), a("c.test", "192.0.2.1")] };
        if (number !== undefined)
          return {
            answers: [Number(number) === 0 ? a(name, "192.0.2.2") : cname(name, `n${Number(number) - 1}.test`)],
          };
        if (name === "dead.test") return { answers: [cname("dead.test", "gone.test")], rcode: "NXDOMAIN" };
        return { rcode: "NXDOMAIN" };
      },
    ]);
    assert.deepEqual(await resolve4("a.test"), ["192.0.2.1"]);
    assert.deepEqual(await resolve4("n10.test"), ["192.0.2.2"]);
    await assert.rejects(resolve4("n11.test"), { code: "ESERVFAIL", message: /CNAMEs/ });
    await assert.rejects(resolve4("dead.test"), { code: "ENOTFOUND" });
  });

  test("cache an answer for its TTL, a negative answer according to its SOA, and a failure for seconds", async (t) => {
    const clock = createManualClock(1_000_000);
    const { resolve4, query, servers } = await lookups(
      t,
      [
        ({ name }) => {
          if (name === "gone.test") return { rcode: "NXDOMAIN", authorities: [soa("test", 20)] };
          return name === "bad.test" ? { rcode: "SERVFAIL" } : { answers: [a(name, "192.0.2.1", 60)] };
        },
      ],
      { clock },
    );
    const queryCount = () => servers[0]!.queries.length;
    const times = async (name: string, ms: number) => {
      const before = queryCount();
      for (const wait of [0, ms - 1, 1]) {
        clock.advance(wait);
        await resolve4(name).catch(() => {});
      }
      return queryCount() - before;
    };
    assert.equal(await times("x.test", 60_000), 2);
    assert.equal(await times("gone.test", 20_000), 2);
    assert.equal(await times("bad.test", 5000), 2);
    const before = queryCount();
    await query("x.test", "A", { fresh: true });
    assert.equal(queryCount() - before, 1);
    // Concurrent callers share one query.
    await Promise.all(Array.from({ length: 50 }, () => resolve4("many.test")));
    assert.equal(queryCount() - before, 2);
  });

  test("limit the number of pending queries, and reject them on close", async (t) => {
    const { resolve4, close } = await lookups(t, [() => undefined], { attemptMs: 5000, totalMs: 10_000 });
    const waiting = Array.from({ length: 1000 }, (_, index) =>
      resolve4(`h${index}.test`).then(
        () => "",
        (err: { code: string }) => err.code,
      ),
    );
    await assert.rejects(resolve4("one-more.test"), { code: "EBUSY" });
    close();
    assert.deepEqual([...new Set(await Promise.all(waiting))], ["ETIMEOUT"]);
  });

  test("report invalid names as nonexistent, and query internationalised names by their A-labels", async (t) => {
    const { resolve4, servers } = await lookups(t, [({ name }) => ({ answers: [a(name, "192.0.2.1")] })]);
    for (const name of ["", "a..test", `${"x".repeat(64)}.test`, `${"abcdefg.".repeat(40)}test`])
      await assert.rejects(resolve4(name), { code: "ENOTFOUND" });
    await resolve4("bücher.test");
    assert.deepEqual(servers[0]!.queries, ["xn--bcher-kva.test A"]);
  });
});

describe("zones on this server", () => {
  const zones = zonesOf(
    {
      "mine.test":
        '@ TXT "own"\n@ MX 10 mx\nmx A 192.0.2.9\nout CNAME host.far.example.\nsub NS ns.far.example.\n@ CAA 0 issue "x"\n',
      "mine.org": '@ TXT "own"\n',
      "sub.theirs.org": '@ TXT "own"\n',
    },
    ["ns1.us.example"],
  );
  const ns = (name: string, data: string) => ({ name, type: "NS" as const, ttl: 60, data });
  const text = async (made: { resolveTxt(name: string): Promise<string[][]> }, name: string) =>
    made.resolveTxt(name).then(
      ([strings]) => strings!.join(""),
      (err: { code: string }) => err.code,
    );

  test("are answered from our tables, and foreign targets and delegations are looked up in public DNS", async (t) => {
    const made = await lookups(t, [({ name }) => ({ answers: [a(name, "192.0.2.77")] })], { own: { zones } });
    assert.equal(await text(made, "mine.test"), "own");
    assert.deepEqual(await made.resolve4("mx.mine.test"), ["192.0.2.9"]);
    await assert.rejects(made.resolve4("none.mine.test"), { code: "ENOTFOUND" });
    await assert.rejects(made.resolve6("mx.mine.test"), { code: "ENODATA" });
    assert.deepEqual(made.servers[0]!.queries, []);
    assert.deepEqual(await made.resolve4("out.mine.test"), ["192.0.2.77"]);
    assert.deepEqual(await made.resolve4("www.sub.mine.test"), ["192.0.2.77"]);
    assert.deepEqual(made.servers[0]!.queries, ["host.far.example A", "www.sub.mine.test A"]);
  });

  test("are ignored if public DNS assigns them to another owner", async (t) => {
    const world: Script = ({ name, type }) => {
      if (type === "TXT") return { answers: [{ name, type: "TXT", ttl: 60, data: ["theirs"] }] };
      if (name === "mine.org" || name === "theirs.org") return { answers: [ns(name, "ns1.theirs.example")] };
      return { rcode: "NXDOMAIN" };
    };
    const made = await lookups(t, [world], { own: { zones } });
    assert.equal(await text(made, "mine.org"), "theirs");
    // The name is not delegated, but its parent belongs to another owner: DMARC would use that domain's policy.
    assert.equal(await text(made, "sub.theirs.org"), "theirs");
  });

  test("are used if public DNS delegates them to us or does not know the domain", async (t) => {
    const delegated = await lookups(
      t,
      [({ name, type }) => (type === "NS" ? { answers: [ns(name, "NS1.us.example")] } : { rcode: "SERVFAIL" })],
      { own: { zones } },
    );
    assert.equal(await text(delegated, "mine.org"), "own");
    const unknown = await lookups(t, [() => ({ rcode: "NXDOMAIN" })], { own: { zones } });
    assert.equal(await text(unknown, "mine.org"), "own");
    const kept = await lookups(t, [({ name }) => ({ answers: [{ name, type: "TXT", ttl: 60, data: ["public"] }] })], {
      own: { zones, mayServe: ({ name }) => name !== "mine.test" },
    });
    assert.equal(await text(kept, "mine.test"), "public");
  });

  test("are used if no resolver is reachable, and otherwise only after they have been verified", async (t) => {
    const alone = await lookups(t, [() => undefined], { own: { zones }, attemptMs: 50 });
    assert.equal(await text(alone, "mine.org"), "own");
    const failing = await lookups(
      t,
      [({ name, type }) => (type === "A" ? { answers: [a(name, "192.0.2.1")] } : { rcode: "SERVFAIL" })],
      { own: { zones } },
    );
    await failing.resolve4("x.example");
    assert.equal(await text(failing, "mine.org"), "ESERVFAIL");
  });
});

test("parses resolvers given as address and port", () => {
  assert.deepEqual(readEndpoint("192.0.2.1"), { host: "192.0.2.1", port: 53 });
  assert.deepEqual(readEndpoint("192.0.2.1:5353"), { host: "192.0.2.1", port: 5353 });
  assert.deepEqual(readEndpoint("2001:db8::1"), { host: "2001:db8::1", port: 53 });
  assert.deepEqual(readEndpoint("[2001:db8::1]:54"), { host: "2001:db8::1", port: 54 });
  for (const text of ["", "dns.example", "192.0.2.1:0", "192.0.2.1:99999", "[::1", "192.0.2.1:x"])
    assert.throws(() => readEndpoint(text), { kind: "badResolver" });
});
