import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { authority, issuedBy, selfSigned, type Pair } from "../certificate.testing.ts";
import { deliveryRequestOf, startSink } from "../outbound.testing.ts";
import type { TlsResult } from "../types.ts";
import { createDeliveryAgent, type DeliveryAgentOptions } from "../smtp/delivery-agent.ts";
import { createDane } from "./dane.ts";
import { startDns, type NameRecords } from "./dns.testing.ts";
import { isUsable, type Tlsa } from "./tlsa.ts";

const hash = (name: string, octets: Uint8Array) => createHash(name).update(octets).digest();
const derOf = ({ cert }: Pair) => new X509Certificate(cert).raw;
const spkiOf = (der: Buffer) => new X509Certificate(der).publicKey.export({ type: "spki", format: "der" });
const tlsa = (usage: number, selector: number, matchingType: number, certificate: Buffer): Tlsa => ({
  usage,
  selector,
  matchingType,
  certificate,
});

/** Delivers to a domain with one signed host that presents `pair` and publishes `records`. */
async function deliver(
  t: TestContext,
  pair: Pair | undefined,
  records: Tlsa[] | NameRecords,
  { names = {}, ...more }: { names?: Record<string, NameRecords> } & Partial<DeliveryAgentOptions> = {},
) {
  const sink = await startSink(pair ?? {});
  const dns = await startDns(t, {
    "there.example": { records: { MX: [{ priority: 10, target: "mx.there.example" }] } },
    "mx.there.example": { records: { A: ["127.0.0.1"] } },
    [`_${sink.port}._tcp.mx.there.example`]: Array.isArray(records) ? { records: { TLSA: records } } : records,
    ...names,
  });
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver: dns,
    port: sink.port,
    daneFor: createDane({ lookups: dns, port: sink.port }),
    ...more,
  });
  t.after(() => agent.close());
  const {
    results: [result],
  } = await agent.deliver("there.example", deliveryRequestOf(["b@there.example"]), new AbortController().signal);
  assert.equal(sink.mails.length, result!.outcome === "delivered" ? 1 : 0);
  const how =
    result!.outcome === "delivered"
      ? result!.tls === undefined
        ? "plain"
        : "TLS"
      : `${result!.reply.code} ${result!.reply.enhanced}`;
  return { how, text: result!.reply.text, dns };
}

const own = selfSigned("any.example");
const other = selfSigned("mx.there.example");
const root = authority("Root");
const between = authority("Between", { by: root });
const leaf = issuedBy(between, ["mx.there.example"]);

test("RFC 7672 3.1.1: accepts a certificate or key that matches the record, regardless of its name and dates", async (t) => {
  for (const [what, record] of Object.entries({
    "3 0 0": tlsa(3, 0, 0, derOf(own)),
    "3 0 1": tlsa(3, 0, 1, hash("sha256", derOf(own))),
    "3 0 2": tlsa(3, 0, 2, hash("sha512", derOf(own))),
    "3 1 0": tlsa(3, 1, 0, spkiOf(derOf(own))),
    "3 1 1": tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(own)))),
    "3 1 2": tlsa(3, 1, 2, hash("sha512", spkiOf(derOf(own)))),
  }))
    assert.equal((await deliver(t, own, [record])).how, "TLS", what);
  const expired = issuedBy(root, ["mx.there.example"], { until: Date.now() - 86_400_000 });
  assert.equal((await deliver(t, expired, [tlsa(3, 0, 1, hash("sha256", expired.der))])).how, "TLS");
  const rollover = [
    tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(other)))),
    tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(own)))),
  ];
  assert.equal((await deliver(t, own, rollover)).how, "TLS", "one matching record is sufficient");
});

test("defers mail if the certificate does not match or TLS is missing, and never sends plain text", async (t) => {
  const records = [tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(own))))];
  const wrong = await deliver(t, other, records);
  assert.match(`${wrong.how} ${wrong.text}`, /^451 4\.7\.5 DANE: no TLSA record matches/);
  assert.match((await deliver(t, undefined, records)).how, /^451 4\./);
});

test("RFC 7672 3.1.2: a trust anchor covers certificates issued under it with a matching name and valid dates", async (t) => {
  const byRoot = [tlsa(2, 0, 1, hash("sha256", root.der))];
  assert.equal((await deliver(t, leaf, byRoot)).how, "TLS");
  assert.equal(
    (await deliver(t, leaf, [tlsa(2, 1, 2, hash("sha512", spkiOf(between.der)))])).how,
    "TLS",
    "an intermediate certificate as trust anchor",
  );
  assert.equal(
    (await deliver(t, issuedBy(between, ["there.example"]), byRoot)).how,
    "TLS",
    "a certificate for the domain name is accepted",
  );
  assert.equal((await deliver(t, issuedBy(between, ["*.there.example"]), byRoot)).how, "TLS");
  const lazy = authority("Lazy", { sent: false });
  assert.equal(
    (await deliver(t, issuedBy(lazy, ["mx.there.example"]), [tlsa(2, 0, 0, lazy.der)])).how,
    "TLS",
    "a trust anchor that only the DNS record contains",
  );

  const refusals: [string, Pair, Tlsa[], RegExp][] = [
    [
      "a certificate for another name",
      issuedBy(between, ["mx.else.example"]),
      byRoot,
      /matches none of mx\.there\.example, there\.example/,
    ],
    [
      "an expired certificate",
      issuedBy(between, ["mx.there.example"], { until: Date.now() - 3_600_000 }),
      byRoot,
      /has expired or is not yet valid/,
    ],
    [
      "another trust anchor",
      leaf,
      [tlsa(2, 0, 1, hash("sha256", authority("Root").der))],
      /no TLSA record matches a certificate/,
    ],
    [
      "a trust anchor that is not sent",
      issuedBy(lazy, ["mx.there.example"]),
      [tlsa(2, 0, 1, hash("sha256", lazy.der))],
      /no TLSA record matches a certificate/,
    ],
    [
      "an issuer that is not a CA",
      issuedBy(authority("Nobody", { by: root, ca: false }), ["mx.there.example"]),
      byRoot,
      /does not verify|no TLSA record matches a certificate/,
    ],
    [
      "an end-entity certificate as trust anchor",
      leaf,
      [tlsa(2, 0, 1, hash("sha256", leaf.der))],
      /no TLSA record matches a certificate/,
    ],
  ];
  for (const [what, pair, records, why] of refusals) {
    const { how, text } = await deliver(t, pair, records);
    assert.match(`${how} ${text}`, new RegExp(`^451 4\\.7\\.5 .*(${why.source})`), what);
  }
});

test("unusable records still require TLS, with any certificate", async (t) => {
  const unusable = [
    tlsa(0, 0, 1, Buffer.alloc(32)),
    tlsa(1, 1, 1, Buffer.alloc(32)),
    tlsa(3, 2, 1, Buffer.alloc(32)),
    tlsa(3, 1, 9, Buffer.alloc(32)),
    tlsa(3, 1, 1, Buffer.alloc(31)),
    tlsa(3, 0, 0, Buffer.alloc(0)),
  ];
  assert.deepEqual(unusable.filter(isUsable), []);
  assert.equal((await deliver(t, own, unusable)).how, "TLS");
  assert.match((await deliver(t, undefined, unusable)).how, /^451 4\./);
});

test("DANE does not apply unless the domain, the host and the record are all signed with DNSSEC", async (t) => {
  const bad = [tlsa(3, 1, 1, Buffer.alloc(32))];
  const unsigned = { authentic: false };
  assert.equal((await deliver(t, own, { records: { TLSA: bad }, ...unsigned })).how, "TLS");
  const domain = await deliver(t, undefined, bad, {
    names: { "there.example": { records: { MX: [{ priority: 1, target: "mx.there.example" }] }, ...unsigned } },
  });
  const host = await deliver(t, undefined, bad, {
    names: { "mx.there.example": { records: { A: ["127.0.0.1"] }, ...unsigned } },
  });
  for (const { how, dns } of [domain, host]) {
    assert.equal(how, "plain");
    assert.ok(
      dns.queries.every((question) => !question.startsWith("TLSA")),
      "no TLSA query is sent",
    );
  }
  assert.equal((await deliver(t, undefined, { records: {} })).how, "plain");
});

test("mail waits until it is known whether DANE applies", async (t) => {
  const { how, text } = await deliver(t, own, { fail: ["TLSA"] });
  assert.match(`${how} ${text}`, /^451 4\.7\.5 the TLSA lookup for mx\.there\.example failed/);
});

test("uses the records of the host's alias target if there are any, otherwise those of the host, and treats a domain without MX as its own host", async (t) => {
  const good = tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(own))));
  const alias = {
    "mx.there.example": { records: { CNAME: ["real.else.example"] } },
    "real.else.example": { records: { A: ["127.0.0.1"] } },
  };
  const led = await deliver(t, own, [tlsa(3, 1, 1, Buffer.alloc(32))], { names: alias });
  assert.match(led.how, /^451/, "the TLSA records of the host itself apply if those of its alias are missing");
  const dns = await startDns(t, {
    "bare.example": { records: { AAAA: ["::1"] } },
    "_25._tcp.bare.example": { records: { TLSA: [good] } },
    ...alias,
    "there.example": { records: { MX: [{ priority: 1, target: "mx.there.example" }] } },
    "_25._tcp.real.else.example": { records: { TLSA: [good] } },
  });
  const dane = createDane({ lookups: dns, port: 25 });
  const kinds = await Promise.all([
    dane("bare.example", "bare.example"),
    dane("there.example", "mx.there.example"),
    dane("[192.0.2.1]", "192.0.2.1"),
  ]);
  assert.deepEqual(
    kinds.map((one) => (one.kind === "policy" ? one.host : one.kind)),
    ["bare.example", "real.else.example", "none"],
  );
});

test("RFC 8461 2: DANE takes precedence over MTA-STS, which does not compensate for a DANE failure", async (t) => {
  const enforced = { policyFor: () => ({ level: "verified" as const, mx: ["mx.there.example"] }) };
  assert.equal(
    (await deliver(t, own, [tlsa(3, 1, 1, hash("sha256", spkiOf(derOf(own))))], enforced)).how,
    "TLS",
    "a certificate that MTA-STS would reject",
  );
  assert.match(
    (await deliver(t, other, [tlsa(3, 1, 1, Buffer.alloc(32))], { ...enforced, ca: other.cert })).how,
    /^451/,
    "a certificate that MTA-STS would accept",
  );
  assert.equal((await deliver(t, other, { records: {} }, { ...enforced, ca: other.cert })).how, "TLS");
});

test("reports the TLSA records and why a host does not satisfy them (RFC 8460 4.3, 4.4)", async (t) => {
  const byRoot = [tlsa(2, 0, 1, hash("sha256", root.der))];
  const expired = issuedBy(between, ["mx.there.example"], { until: Date.now() - 3_600_000 });
  const cases: [string, Pair | undefined, Tlsa[] | NameRecords][] = [
    ["ok", leaf, byRoot],
    ["tlsa-invalid", own, byRoot],
    ["tlsa-invalid", own, [tlsa(3, 1, 1, Buffer.alloc(32))]],
    ["certificate-host-mismatch", issuedBy(between, ["mx.else.example"]), byRoot],
    ["certificate-expired", expired, byRoot],
    ["starttls-not-supported", undefined, byRoot],
    ["dnssec-invalid", own, { fail: ["TLSA"] }],
  ];
  for (const [type, pair, records] of cases) {
    const recorded: TlsResult[] = [];
    const tlsResults = { reportSender: "reports@out.example", record: (one: TlsResult) => void recorded.push(one) };
    await deliver(t, pair, records, { tlsResults });
    const [{ policy, failure, mx } = {} as TlsResult, ...more] = recorded;
    assert.equal(failure?.type ?? "ok", type);
    const lines = Array.isArray(records)
      ? records.map((one) => `${one.usage} ${one.selector} 1 ${Buffer.from(one.certificate).toString("hex")}`)
      : [];
    assert.deepEqual(policy, { type: "tlsa", lines, mx: ["mx.there.example"] }, type);
    assert.deepEqual([mx, more], ["mx.there.example", []]);
  }
});
