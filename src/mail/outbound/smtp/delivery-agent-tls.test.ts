import assert from "node:assert/strict";
import { test } from "node:test";
import { selfSigned } from "../certificate.testing.ts";
import { deliveryRequestOf, resolverOf, startScripted, startSink } from "../outbound.testing.ts";
import { NEVER, open, resultLines } from "./delivery-agent.testing.ts";

const good = selfSigned("mx.there.example");
const other = selfSigned("elsewhere.example");

for (const [what, { server, level, ca, expect }] of Object.entries({
  "opportunistic TLS accepts any certificate": {
    server: other,
    level: "opportunistic",
    ca: undefined,
    expect: "delivered TLS",
  },
  "opportunistic TLS falls back to plaintext if TLS is not offered": {
    server: undefined,
    level: "opportunistic",
    ca: undefined,
    expect: "delivered plain",
  },
  "required TLS accepts any certificate": {
    server: other,
    level: "require",
    ca: undefined,
    expect: "delivered TLS",
  },
  "required TLS never falls back to plaintext": {
    server: undefined,
    level: "require",
    ca: undefined,
    expect: "temporary 4",
  },
  "a certificate that is not trusted fails verification": {
    server: good,
    level: "verified",
    ca: undefined,
    expect: "temporary 4.7.5",
  },
  "a certificate for another name fails verification": {
    server: other,
    level: "verified",
    ca: other.cert,
    expect: "temporary 4.7.5",
  },
  "a trusted certificate for the host name passes verification": {
    server: good,
    level: "verified",
    ca: good.cert,
    expect: "delivered TLS",
  },
  "level none does not use TLS": { server: good, level: "none", ca: undefined, expect: "delivered plain" },
} as const)) {
  test(what, async () => {
    const sink = await startSink(server === undefined ? {} : server);
    const { deliver } = open(sink, { policyFor: () => ({ level }), ...(ca !== undefined && { ca }) });
    const {
      results: [result],
    } = await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
    const found =
      result!.outcome === "delivered"
        ? `delivered ${result!.tls === undefined ? "plain" : result!.tls.slice(0, 3)}`
        : `${result!.outcome} ${result!.reply.enhanced}`;
    assert.ok(found.startsWith(expect), `${found} ${result!.reply.text}`);
    assert.equal(sink.mails[0]?.secure ?? false, expect === "delivered TLS");
  });
}

test("opportunistic TLS falls back to plain text if TLS fails or is refused", async () => {
  const broken = await startScripted((command, socket) => {
    if (command.startsWith("EHLO")) return "250-there\r\n250 STARTTLS";
    if (command !== "STARTTLS") return undefined;
    setImmediate(() => socket.write("this is no handshake"));
    return "220 go";
  });
  const first = await open(broken).deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.deepEqual([first.results[0]!.outcome, first.results[0]!.tls, broken.connections], ["delivered", undefined, 2]);
  const refusing = await startScripted((command) =>
    command.startsWith("EHLO") ? "250-there\r\n250 STARTTLS" : command === "STARTTLS" ? "454 4.7.0 not now" : undefined,
  );
  const second = await open(refusing).deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.deepEqual([second.results[0]!.outcome, refusing.connections], ["delivered", 1]);
});

test("uses only hosts that the policy and a custom check allow", async () => {
  const sink = await startSink(good);
  const not = await open(sink, {
    policyFor: () => ({ level: "verified", mx: ["*.other.example", "there.example"] }),
  }).deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.match(resultLines(not)[0]!, /^b temporary 451 4\.7\.5 the MTA-STS policy of there\.example allows none/);
  const yes = await open(sink, {
    policyFor: () => ({ level: "verified", mx: ["*.there.example"] }),
    ca: good.cert,
  }).deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.equal(yes.results[0]!.outcome, "delivered");
  const verify = () => assert.fail("no TLSA record matches");
  const dane = await open(sink, { policyFor: () => ({ level: "require", verify }) }).deliver(
    "there.example",
    deliveryRequestOf(["b@there.example"]),
    NEVER,
  );
  assert.match(resultLines(dane)[0]!, /temporary 451 .*no TLSA record matches/);
  assert.equal(sink.mails.length, 1);
});

// ---- smart hosts

test("sends everything to the first working smart host, with a password", async () => {
  const taken = { user: "u", pass: "p" };
  const rules = selfSigned("smart.example");
  const sink = await startSink({
    ...rules,
    authOptional: false,
    onAuth: ({ username, password }, _session, done) =>
      username === "u" && password === "p"
        ? done(null, { user: "u" })
        : done(Object.assign(new Error("no"), { responseCode: 535 })),
  });
  const resolver = resolverOf({ "smart.example": { a: ["127.0.0.1"] } });
  const gone = { host: "127.0.0.9", port: sink.port };
  const works = open(sink, {
    resolver,
    smartHosts: [gone, { host: "smart.example", port: sink.port, auth: taken }],
    ca: rules.cert,
  });
  const attempt = await works.deliver(
    "anywhere.example",
    deliveryRequestOf(["b@anywhere.example", "c@elsewhere.example"]),
    NEVER,
  );
  assert.deepEqual(
    attempt.results.map(({ outcome }) => outcome),
    ["delivered", "delivered"],
  );
  assert.deepEqual(
    sink.mails.map(({ user, secure, to }) => [user, secure, to.length]),
    [["u", true, 2]],
  );
  const wrong = open(sink, {
    resolver,
    smartHosts: [{ host: "smart.example", port: sink.port, auth: { user: "u", pass: "x" } }],
    ca: rules.cert,
  });
  assert.match(
    resultLines(await wrong.deliver("anywhere.example", deliveryRequestOf(["b@anywhere.example"]), NEVER))[0]!,
    /^b temporary 451 4\.4\.0 .*answered: 535/,
    "a wrong password does not bounce the message",
  );
});

test("never sends a password in plain text", async () => {
  const sink = await startSink({ authOptional: true, onAuth: () => assert.fail("the password was sent") });
  const { deliver } = open(sink, {
    smartHosts: [{ host: "127.0.0.1", port: sink.port, auth: { user: "u", pass: "p" }, tls: "opportunistic" }],
  });
  assert.match(
    resultLines(await deliver("anywhere.example", deliveryRequestOf(["b@anywhere.example"]), NEVER))[0]!,
    /temporary 451 4\.7\.5/,
  );
});

test("starts TLS with the first octet", async () => {
  const pair = selfSigned("smart.example");
  const sink = await startSink({ ...pair, secure: true });
  const { deliver } = open(sink, {
    resolver: resolverOf({ "smart.example": { a: ["127.0.0.1"] } }),
    smartHosts: [{ host: "smart.example", port: sink.port, tls: "implicit" }],
    ca: pair.cert,
  });
  assert.equal(
    (await deliver("anywhere.example", deliveryRequestOf(["b@anywhere.example"]), NEVER)).results[0]!.outcome,
    "delivered",
  );
});
