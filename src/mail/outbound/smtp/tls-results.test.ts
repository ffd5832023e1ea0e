import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { authority, issuedBy, selfSigned, type Pair } from "../certificate.testing.ts";
import { deliveryRequestOf, resolverOf, startScripted, startSink } from "../outbound.testing.ts";
import type { DaneFinding, ReportedPolicy, TlsPolicy, TlsResult } from "../types.ts";
import { createDeliveryAgent, type DeliveryAgentOptions } from "./delivery-agent.ts";

const NEVER = new AbortController().signal;
const REPORTER = "tls-reports@out.example";
const root = authority("Root");
const good = issuedBy(root, ["mx.there.example"]);
const dns = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "other.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
});

const sts = (mode: "enforce" | "testing", mx: string[]): TlsPolicy => {
  const reported: ReportedPolicy = { type: "sts", lines: [`mode: ${mode}`], mx };
  return mode === "enforce" ? { level: "verified", mx, reported } : { level: "opportunistic", reported };
};

async function open(
  t: TestContext,
  pair: Pair | undefined,
  more: Partial<DeliveryAgentOptions> & { port?: number } = {},
) {
  const sink = await startSink(pair ?? {});
  const recorded: TlsResult[] = [];
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver: dns,
    port: sink.port,
    ca: root.cert,
    tlsResults: { reportSender: REPORTER, record: (result) => void recorded.push(result) },
    ...more,
  });
  t.after(() => agent.close());
  const send = async (domain = "there.example", from = "a@sender.example") => {
    const { results } = await agent.deliver(domain, deliveryRequestOf([`b@${domain}`], undefined, { from }), NEVER);
    return results[0]!.outcome;
  };
  const summary = () =>
    recorded.map(({ domain, policy: { type }, failure }) => `${domain} ${type} ${failure?.type ?? "ok"}`);
  return { sink, send, recorded, summary };
}

test("records a session with TLS once per connection and domain", async (t) => {
  const { send, recorded, summary, sink } = await open(t, selfSigned("any.example"));
  for (const domain of ["there.example", "there.example", "other.example"])
    assert.equal(await send(domain), "delivered");
  assert.equal(sink.connections, 1);
  assert.deepEqual(summary(), ["there.example no-policy-found ok", "other.example no-policy-found ok"]);
  assert.deepEqual(recorded[0], {
    domain: "there.example",
    policy: { type: "no-policy-found", lines: [], mx: [] },
    failure: undefined,
    mx: "mx.there.example",
    ip: "127.0.0.1",
    sendingIp: "127.0.0.1",
  });
});

test("records a host without STARTTLS", async (t) => {
  for (const [policy, outcome] of [
    [undefined, "delivered"],
    [sts("testing", ["*.there.example"]), "delivered"],
    [sts("enforce", ["*.there.example"]), "temporary"],
  ] as const) {
    const { send, summary } = await open(t, undefined, { policyFor: () => policy });
    assert.equal(await send(), outcome);
    assert.deepEqual(summary(), [
      `there.example ${policy?.reported?.type ?? "no-policy-found"} starttls-not-supported`,
    ]);
  }
});

test("records a failed handshake of an opportunistic session that continues in plain text", async (t) => {
  const server = await startScripted((command, socket) => {
    if (command.startsWith("EHLO")) return "250-scripted\r\n250 STARTTLS";
    if (command !== "STARTTLS") return undefined;
    setImmediate(() => socket.write("this is no handshake"));
    return "220 go";
  });
  const { send, summary } = await open(t, undefined, { port: server.port });
  assert.equal(await send(), "delivered");
  assert.deepEqual(summary(), ["there.example no-policy-found validation-failure"]);
});

test("records certificate errors under MTA-STS; mode testing does not stop mail", async (t) => {
  const pairs: [string, Pair][] = [
    ["ok", good],
    ["certificate-host-mismatch", issuedBy(root, ["mx.elsewhere.example"])],
    ["certificate-expired", issuedBy(root, ["mx.there.example"], { until: Date.now() - 86_400_000 })],
    ["certificate-not-trusted", selfSigned("mx.there.example")],
  ];
  for (const [type, pair] of pairs)
    for (const mode of ["testing", "enforce"] as const) {
      const { send, summary } = await open(t, pair, { policyFor: () => sts(mode, ["*.there.example"]) });
      assert.equal(await send(), mode === "testing" || type === "ok" ? "delivered" : "temporary", `${mode} ${type}`);
      assert.deepEqual(summary(), [`there.example sts ${type}`], mode);
    }
});

test("records a host that the MTA-STS policy does not list", async (t) => {
  for (const mode of ["testing", "enforce"] as const) {
    const { send, summary, sink } = await open(t, good, { policyFor: () => sts(mode, ["mx.elsewhere.example"]) });
    assert.equal(await send(), mode === "testing" ? "delivered" : "temporary");
    assert.equal(sink.connections, mode === "testing" ? 1 : 0);
    assert.deepEqual(summary(), ["there.example sts validation-failure"], mode);
  }
});

test("records a session as failed if the MTA-STS policy cannot be fetched", async (t) => {
  const reported: ReportedPolicy = { type: "sts", lines: [], mx: [], failure: { type: "sts-policy-fetch-error" } };
  const { send, summary } = await open(t, good, { policyFor: () => ({ level: "opportunistic", reported }) });
  assert.equal(await send(), "delivered");
  assert.deepEqual(summary(), ["there.example sts sts-policy-fetch-error"]);
});

test("records that TLSA records could not be looked up", async (t) => {
  const finding: DaneFinding = { kind: "unknown", why: "SERVFAIL", reported: { type: "tlsa", lines: [], mx: [] } };
  const { send, summary, sink } = await open(t, good, { daneFor: async () => finding });
  assert.equal(await send(), "temporary");
  assert.equal(sink.connections, 0);
  assert.deepEqual(summary(), ["there.example tlsa dnssec-invalid"]);
});

test("does not record sessions that failed outside of TLS, went to a smart host, or went to this server", async (t) => {
  const refusing = await startScripted(() => undefined, { greeting: "421 4.3.2 busy" });
  const refused = await open(t, undefined, { port: refusing.port });
  assert.equal(await refused.send(), "temporary");
  assert.deepEqual(refused.summary(), []);
  const { port } = await startSink(good);
  const host = { host: "127.0.0.1", port };
  for (const more of [{ smartHosts: [host] }, { localHop: async () => host }]) {
    const { send, summary } = await open(t, undefined, more);
    assert.equal(await send(), "delivered");
    assert.deepEqual(summary(), []);
  }
});

test("delivers TLS reports despite TLS failures and records nothing about these deliveries (RFC 8460 5.3)", async (t) => {
  const { send, summary, sink } = await open(t, selfSigned("any.example"), {
    policyFor: () => sts("enforce", ["mx.elsewhere.example"]),
  });
  assert.equal(await send(), "temporary");
  assert.deepEqual(summary(), ["there.example sts validation-failure"]);
  assert.equal(await send("there.example", REPORTER), "delivered");
  assert.equal(sink.mails[0]!.secure, true);
  assert.equal(summary().length, 1);
});
