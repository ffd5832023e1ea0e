import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, test, type TestContext } from "node:test";
import { systemClock } from "../../src/kernel/index.ts";
import { createSigner } from "../../src/mail/authenticate/index.ts";
import { startScriptedServer, type ScriptedResponse } from "../../src/zones/dns/lookup/scripted-server.testing.ts";
import { createScope } from "../e2e/dev-bench.ts";
import { startNextHop, type NextHop } from "../support/next-hop.ts";
import {
  plainMessage,
  sendRaw,
  SENDER_DOMAIN,
  startMailFixture,
  until,
  type MailFixture,
} from "../support/mail-world.ts";

/**
 * DNS failures in lookups that only a whole platform makes: senders' keys and policies, forward destinations, block
 * lists. For SPF, see serve-authentication.
 */

type Mode = "SERVFAIL" | "NXDOMAIN" | "silence" | "null MX" | "inside" | "good";

/** Twice the maximum time for all lookups for one message, plus a margin for a slow machine. */
const IN_TIME_MS = 30_000;
/** Failures are cached for 5 s (RFC 9520). The rest is a margin for a slow machine. */
const FORGOTTEN_MS = 60_000;

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const KEY = `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`;

describe("DNS fails while mail is in transit", { concurrency: 4 }, () => {
  const scope = createScope();
  const modes = new Map<string, Mode>();
  let world: MailFixture;
  let hop: NextHop;
  let resolvers: string;

  function say({ name, type }: { name: string; type: string }): ScriptedResponse | undefined {
    const mode = modes.get(name) ?? modes.get(name.replace(/^mx\./, ""));
    const one = (data: string | string[] | object): ScriptedResponse => ({ answers: [{ name, type, ttl: 1, data }] });
    if (mode === "silence") return undefined;
    if (mode === undefined || mode === "NXDOMAIN" || mode === "SERVFAIL") return { rcode: mode ?? "NXDOMAIN" };
    if (type === "TXT" && name.includes("._domainkey.")) return one(KEY.match(/.{1,200}/g)!);
    if (type === "MX")
      return one({ priority: mode === "null MX" ? 0 : 10, target: mode === "null MX" ? "." : `mx.${name}` });
    if (type === "A")
      return one(
        name.startsWith("lists.") || name.includes(".lists.")
          ? "127.0.0.2"
          : mode === "inside"
            ? "10.0.0.1"
            : "127.0.0.1",
      );
    return {};
  }

  before(async () => {
    const dns = await startScriptedServer(scope as unknown as TestContext, say);
    resolvers = `127.0.0.1:${dns.port}`;
    hop = await startNextHop(scope);
    const env = {
      REELPOST_DNS_RESOLVERS: resolvers,
      REELPOST_AUTHENTICATION_TRUSTED: "192.0.2.99",
      REELPOST_OUTBOUND_DELIVER: "mx",
      REELPOST_OUTBOUND_PORT: String(hop.port),
      REELPOST_OUTBOUND_ALLOW_PRIVATE: "true",
      REELPOST_OUTBOUND_IPV6: "false", // Retries after the cached failure has expired: a third consecutive failure would be cached for a minute.
      REELPOST_OUTBOUND_RETRY_MINUTES: "0.12",
    };
    world = await startMailFixture(scope, { env });
    await world.rule("*", "drop");
  });
  after(() => scope.close());

  const send = (
    subject: string,
    to = "box@routed.example",
    raw = plainMessage(subject),
    from = `ada@${SENDER_DOMAIN}`,
  ) => sendRaw(world.server.smtp!.port, { from, to, raw });

  async function timed(answer: Promise<string>): Promise<string> {
    const begun = performance.now();
    const response = await answer;
    assert.ok(performance.now() - begun < IN_TIME_MS, `${performance.now() - begun} ms`);
    return response;
  }

  /** Resolves with a sender that is authenticated only by its signature. */
  async function signed(domain: string, subject: string): Promise<string> {
    const raw = plainMessage(subject, { from: `ada@${domain}` });
    const bytes = Buffer.from(raw);
    const source = {
      headerBlock: bytes.subarray(0, raw.indexOf("\r\n\r\n") + 2),
      open: (start = 0) => bytes.subarray(start),
    };
    const fields = await createSigner({ clock: systemClock }).sign(source, {
      dkim: [{ domain, selector: "k", privateKey: privateKey.export({ type: "pkcs8", format: "pem" }) as string }],
    });
    return timed(send(subject, "box@routed.example", fields + raw, `ada@${domain}`));
  }

  for (const [mode, expected] of [
    ["SERVFAIL", /^451 4\.4\.3 /],
    ["silence", /^451 4\.4\.3 /],
    ["NXDOMAIN", /^550 5\.7\./],
    ["good", /^250 /],
  ] as const) {
    test(`a signature's key: ${mode}`, async () => {
      const domain = `key-${mode.toLowerCase()}.org`;
      modes.set(domain, "good").set(`k._domainkey.${domain}`, mode);
      if (mode === "NXDOMAIN" || mode === "good") {
        // The lookups of other records may time out on a busy machine; the sender retries after a temporary failure.
        const final = async () => [await signed(domain, `key ${mode}`)].find((reply) => !reply.startsWith("451 "));
        assert.match(await until(final, "a final reply", FORGOTTEN_MS), expected);
        return;
      }
      assert.match(await signed(domain, `key ${mode}`), expected);
      const { status, error_detail: why } = await world.entry(`key ${mode}`, (entry) => entry.status !== "received");
      assert.deepEqual([status, why?.slice(0, 9)], ["error", "451 4.4.3"]);
      // The sender retries after the failure.
      modes.set(`k._domainkey.${domain}`, "good");
      await until(
        async () => (await signed(domain, `key ${mode} again`)).startsWith("250 ") || undefined,
        "the key to be found",
        FORGOTTEN_MS,
      );
    });
  }

  for (const mode of ["SERVFAIL", "silence"] as const) {
    test(`the author domain's policy: ${mode}`, async () => {
      const domain = `policy-${mode.toLowerCase()}.org`;
      modes.set(domain, "good").set(`k._domainkey.${domain}`, "good").set(`_dmarc.${domain}`, mode);
      assert.match(await signed(domain, `policy ${mode}`), /^451 4\.4\.3 /);
    });

    test(`a forward destination: ${mode}, and delivery resumes afterwards`, async () => {
      const domain = `to-${mode.toLowerCase()}.org`;
      modes.set(domain, mode);
      await world.destination(`bob@${domain}`);
      await world.rule(domain, "forward", `bob@${domain}`);
      assert.match(await timed(send(domain, `${domain}@routed.example`)), /^250 /);
      const { deliveries } = await world.entry(domain, ({ status }) => status === "deferred" || status === "queued");
      assert.match(deliveries[0]!.response!, /cannot be looked up/);
      modes.set(domain, "good");
      await world.entry(domain, ({ status }) => status === "delivered");
      assert.equal(hop.taken.filter(({ raw }) => raw.includes(`\r\nSubject: ${domain}\r\n`)).length, 1);
    });
  }

  for (const [mode, expected] of [
    ["NXDOMAIN", /^550 5\.1\.2 /],
    ["null MX", /^556 5\.1\.10 /],
  ] as const) {
    test(`a forward destination: ${mode} is reported to the sender, and to the user who enters such an address`, async () => {
      const domain = `gone-${mode.toLowerCase().replace(" ", "-")}.org`;
      modes.set(domain, "SERVFAIL");
      await world.destination(`bob@${domain}`);
      await world.rule(domain, "forward", `bob@${domain}`);
      modes.set(domain, mode);
      await until(
        async () => expected.test(await timed(send(domain, `${domain}@routed.example`))) || undefined,
        "the rejection",
        FORGOTTEN_MS,
      );
      assert.deepEqual(
        await world.api.refused("post", "email/routing/addresses", { body: { email: `carol@${domain}` } }),
        [422, 2910],
      );
    });
  }

  test("a forward to a private address is not delivered unless the settings allow it", async (t) => {
    const guarded = await startMailFixture(t, {
      env: {
        REELPOST_DNS_RESOLVERS: resolvers,
        REELPOST_OUTBOUND_DELIVER: "mx",
        REELPOST_OUTBOUND_PORT: String(hop.port),
        REELPOST_OUTBOUND_IPV6: "false",
      },
    });
    modes.set("loopback.org", "SERVFAIL").set("private.org", "SERVFAIL");
    for (const [domain, mode] of [
      ["loopback.org", "good"],
      ["private.org", "inside"],
    ] as const) {
      await guarded.destination(`bob@${domain}`);
      await guarded.rule(domain, "forward", `bob@${domain}`);
      modes.set(domain, mode);
      const answer = () =>
        timed(
          sendRaw(guarded.server.smtp!.port, { to: `${domain}@routed.example`, raw: plainMessage(`inside ${domain}`) }),
        );
      await until(
        async () => (await answer()).startsWith("550 5.4.4 sending to ") || undefined,
        "the rejection",
        FORGOTTEN_MS,
      );
    }
    assert.deepEqual(
      hop.taken.filter(({ to }) => /@(loopback|private)\.org$/.test(to[0]!)),
      [],
    );
  });

  test("failing block lists block no client and cause no long delay, and a working list blocks", async (t) => {
    modes
      .set("1.0.0.127.silent.test", "silence")
      .set("1.0.0.127.fails.test", "SERVFAIL")
      .set("1.0.0.127.lists.test", "good");
    const env = { REELPOST_DNS_RESOLVERS: resolvers };
    const [failing, listing] = await Promise.all(
      ["silent.test,fails.test", "silent.test,lists.test"].map((lists) =>
        startMailFixture(t, { env: { ...env, REELPOST_SMTP_DNSBL: lists } }),
      ),
    );
    for (const one of [failing!, listing!]) await one.rule("*", "drop");
    const to = (one: MailFixture, rcpt: string) =>
      timed(sendRaw(one.server.smtp!.port, { to: rcpt, raw: plainMessage("listed") }));
    assert.match(await to(failing!, "box@routed.example"), /^250 /);
    assert.match(
      await to(listing!, "box@routed.example"),
      /^554 5\.7\.1 127\.0\.0\.1 found on one or more RBLs \(lists\.test\)/,
    );
    assert.match(await to(listing!, "postmaster@routed.example"), /^250 /);
  });
});
