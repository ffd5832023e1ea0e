import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import { recordDraft } from "../../records/change.ts";
import { zonesOf } from "../dns.testing.ts";
import { createLookups } from "../lookup/lookups.ts";
import type { ProviderRecord } from "../provider/port.ts";
import { startDnsServer } from "../server.ts";
import { createLookupResolver, type RecordResolver } from "./record-resolver.ts";
import { createVerifier } from "./verifier.ts";

const zone = { id: "z", account: "a", name: "example.com" };
const record = (type: string, name: string, content: string, priority?: number): ProviderRecord =>
  recordDraft({ type, name, content, priority }, zone);
const KEY = "A".repeat(392);
const EXPECTED = [
  record("MX", "@", "route1.mx.example", 13),
  record("MX", "@", "route2.mx.example", 40),
  record("TXT", "@", "v=spf1 include:_spf.mx.example ~all"),
  record("TXT", "rp1._domainkey", `v=DKIM1; h=sha256; k=rsa; p=${KEY}`),
  record("TXT", "_dmarc", "v=DMARC1; p=quarantine;"),
];
const GOOD = `@ MX 13 route1.mx.example.
@ MX 40 route2.mx.example.
@ TXT "v=spf1 include:_spf.mx.example ~all"
@ TXT "site-verification=1"
rp1._domainkey TXT "v=DKIM1; h=sha256; k=rsa; p=${KEY.slice(0, 200)}" "${KEY.slice(200)}"
_dmarc TXT "v=DMARC1; p=quarantine;"
`;

/** Starts a real server with this zone, and a resolver that queries it. */
async function served(t: TestContext, text: string, name = "ns"): Promise<RecordResolver> {
  const server = await startDnsServer({
    zones: zonesOf({ "example.com": text }),
    log: silentLog,
    hosts: ["127.0.0.1"],
    port: 0,
    rateLimit: null,
  });
  t.after(() => server.close());
  return resolverAt(t, server.port, name);
}

function resolverAt(t: TestContext, port: number, name: string, attemptMs = 20_000): RecordResolver {
  const servers = [{ host: "127.0.0.1", port }];
  const lookups = createLookups({ servers, clock: systemClock, log: silentLog, attemptMs, totalMs: 60_000 });
  t.after(() => lookups.close());
  return createLookupResolver(lookups, name);
}

const check = async (t: TestContext, text: string, expected = EXPECTED) =>
  createVerifier().verify(expected, [await served(t, text)]);
const states = ({ records }: Awaited<ReturnType<typeof check>>) => records.map(({ state }) => state);

describe("the verifier", () => {
  test("returns ready if all records exist", async (t) => {
    const found = await check(t, GOOD);
    assert.deepEqual([found.status, states(found), found.conflicts], ["ready", Array(5).fill("right"), []]);
  });

  test("returns unconfigured if no record exists, and misconfigured if only some do", async (t) => {
    assert.equal((await check(t, "www A 192.0.2.1\n")).status, "unconfigured");
    const half = await check(t, GOOD.replace(/^@ MX 40.*\n/m, ""));
    assert.deepEqual([half.status, states(half)], ["misconfigured", ["right", "missing", "right", "right", "right"]]);
  });

  test("reports a foreign MX as a conflict even if ours are missing, and a different priority as wrong", async (t) => {
    const beside = await check(t, `${GOOD}@ MX 5 mx.google.example.\n`);
    assert.deepEqual(
      [beside.status, beside.conflicts.map(({ kind, record: { content } }) => [kind, content])],
      ["misconfigured", [["foreignMx", "mx.google.example"]]],
    );
    assert.match(
      beside.conflicts[0]!.message,
      /^The MX record 5 mx\.google\.example at example\.com sends mail to another host/,
    );
    assert.equal((await check(t, "@ MX 5 mx.google.example.\n")).status, "misconfigured");
    const moved = await check(t, GOOD.replace("@ MX 40", "@ MX 50"));
    assert.deepEqual(
      [moved.status, moved.records[1]!.state, moved.records[1]!.found, moved.conflicts],
      ["misconfigured", "wrong", ["50 route2.mx.example"], []],
    );
  });

  test("accepts our include in the user's SPF record, and reports a record without it as wrong and two records as a conflict", async (t) => {
    const spf = (text: string) => GOOD.replace('@ TXT "v=spf1 include:_spf.mx.example ~all"', text);
    assert.equal(
      (await check(t, spf('@ TXT "v=SPF1 ip4:192.0.2.0/24 +Include:_spf.mx.example -all"'))).status,
      "ready",
    );
    const foreign = await check(t, spf('@ TXT "v=spf1 include:_spf.google.example -all"'));
    assert.deepEqual(
      [foreign.status, foreign.records[2]!.state, foreign.records[2]!.found],
      ["misconfigured", "wrong", ['"v=spf1 include:_spf.google.example -all"']],
    );
    const two = await check(t, `${GOOD}@ TXT "v=spf1 include:_spf.google.example -all"\n`);
    assert.deepEqual(
      [two.status, two.records[2]!.state, two.conflicts.map(({ kind }) => kind)],
      ["misconfigured", "right", ["secondSpf"]],
    );
  });

  test("compares DKIM keys in any notation, and accepts any single DMARC policy", async (t) => {
    assert.equal(
      (await check(t, GOOD.replace("v=DKIM1; h=sha256; k=rsa; p=", "k=rsa;v=DKIM1; p = "))).status,
      "misconfigured",
      "v= comes first, if at all (RFC 6376 3.6.1)",
    );
    assert.equal((await check(t, GOOD.replace("h=sha256; k=rsa; p=", "t=s; p= "))).status, "ready");
    const revoked = await check(t, GOOD.replace(/^rp1.*$/m, 'rp1._domainkey TXT "v=DKIM1; p="'));
    assert.deepEqual(
      [revoked.status, revoked.records[3]!.state, revoked.records[3]!.found],
      ["misconfigured", "wrong", ['"v=DKIM1; p="']],
    );
    assert.equal((await check(t, GOOD.replace("p=quarantine;", "p=reject; rua=mailto:x@example.net"))).status, "ready");
    assert.equal((await check(t, GOOD.replace("p=quarantine;", "rua=mailto:x@example.net"))).status, "misconfigured");
    assert.deepEqual(
      (await check(t, `${GOOD}_dmarc TXT "v=DMARC1; p=none"\n`)).conflicts.map(({ kind }) => kind),
      ["secondDmarc"],
    );
  });

  test("reports a CNAME with another target as wrong", async (t) => {
    const expected = [record("CNAME", "_mta-sts", "_mta-sts.mx.example")];
    const found = await check(t, "_mta-sts CNAME other.example.\n", expected);
    assert.deepEqual([found.status, found.records[0]!.found], ["misconfigured", ["other.example"]]);
    assert.equal((await check(t, "_mta-sts CNAME _mta-sts.mx.example.\n", expected)).status, "ready");
  });

  test("uses the worst result if resolvers differ, and ignores failed lookups", async (t) => {
    const fresh = await served(t, GOOD, "fresh");
    const stale = await served(t, "www A 192.0.2.1\n", "stale");
    const broken: RecordResolver = { name: "broken", resolve: () => Promise.reject(new Error("timed out")) };
    const verifier = createVerifier();
    const both = await verifier.verify(EXPECTED, [fresh, stale]);
    assert.deepEqual(
      [both.status, both.records[0]!.state, both.records[0]!.seen.map(({ resolver, state }) => [resolver, state])],
      [
        "misconfigured",
        "missing",
        [
          ["fresh", "right"],
          ["stale", "missing"],
        ],
      ],
    );
    const one = await verifier.verify(EXPECTED, [broken, fresh]);
    assert.deepEqual(
      [one.status, one.records[0]!.seen[0]],
      ["ready", { resolver: "broken", state: "failed", found: [], reason: "timed out" }],
    );
    const none = await verifier.verify(EXPECTED, [broken]);
    assert.deepEqual([none.status, none.records[0]!.state], [undefined, "failed"]);
    assert.equal((await verifier.verify(EXPECTED, [])).status, undefined);
  });

  test("distinguishes SERVFAIL, REFUSED and timeouts from a nonexistent record", async (t) => {
    const outside = resolverAt(t, 1, "x", 300);
    await assert.rejects(outside.resolve("example.com", "MX"), { name: "LookupError" });
    const resolver = await served(t, GOOD);
    await assert.rejects(resolver.resolve("example.net", "MX"), {
      name: "LookupError",
      code: "EREFUSED",
    });
    await assert.rejects(resolver.resolve("example.com", "LOC"), /records of type LOC cannot be looked up/);
    assert.deepEqual(await resolver.resolve("nope.example.com", "MX"), []);
  });
});
