import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import { silentLog, systemClock, randomIds } from "../../src/kernel/index.ts";
import { createAuthenticator, createSigner } from "../../src/mail/authenticate/index.ts";
import { createSpool } from "../../src/mail/messages/spool.ts";
import { createBlockLists } from "../../src/mail/inbound/block-lists.ts";
import { createDane } from "../../src/mail/outbound/policy/dane.ts";
import { findNextHops } from "../../src/mail/outbound/smtp/next-hops.ts";
import { createLookups, type Lookups } from "../../src/zones/index.ts";
import { type QuestionType } from "../../src/zones/dns/lookup/message.ts";
import {
  startScriptedServer,
  type ScriptedResponse,
  type Script,
} from "../../src/zones/dns/lookup/scripted-server.testing.ts";

/** Failed DNS responses, and the error codes that the caller receives. */
const FAILURES: Record<string, { say: Script; code: string }> = {
  SERVFAIL: { say: () => ({ rcode: "SERVFAIL" }), code: "ESERVFAIL" },
  REFUSED: { say: () => ({ rcode: "REFUSED" }), code: "EREFUSED" },
  NOTIMP: { say: () => ({ rcode: "NOTIMP" }), code: "ESERVFAIL" },
  NXDOMAIN: { say: () => ({ rcode: "NXDOMAIN" }), code: "ENOTFOUND" },
  "no data": { say: () => ({}), code: "ENODATA" },
  silence: { say: () => undefined, code: "ETIMEOUT" },
  "recursion disabled": { say: () => ({ recursive: false }), code: "ESERVFAIL" },
  "a CNAME that points to itself": {
    say: ({ name, type }) =>
      type === "CNAME" ? { rcode: "SERVFAIL" } : { answers: [{ name, type: "CNAME", ttl: 60, data: name }] },
    code: "ESERVFAIL",
  },
  "a CNAME loop": {
    say: ({ name, type }) =>
      type === "CNAME"
        ? { rcode: "SERVFAIL" }
        : { answers: [{ name, type: "CNAME", ttl: 60, data: name.startsWith("x.") ? name.slice(2) : `x.${name}` }] },
    code: "ESERVFAIL",
  },
  "an endless CNAME chain": {
    say: ({ name, type }) =>
      type === "CNAME" ? { rcode: "SERVFAIL" } : { answers: [{ name, type: "CNAME", ttl: 60, data: `x${name}` }] },
    code: "ESERVFAIL",
  },
  "an invalid message": { say: () => ({ raw: Buffer.from("hello") }), code: "ETIMEOUT" },
  "a truncated message": { say: () => ({ raw: Buffer.alloc(12) }), code: "ETIMEOUT" },
  "the answer to another question": {
    say: (): ScriptedResponse => ({
      question: "another.test",
      answers: [{ name: "another.test", type: "A", ttl: 60, data: "192.0.2.1" }],
    }),
    code: "ETIMEOUT",
  },
};
const TYPES: QuestionType[] = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TLSA", "TXT"];
const PASSES = new Set(["ENOTFOUND", "ENODATA"]);

async function lookupsBy(t: TestContext, { say, code }: { say: Script; code: string }): Promise<Lookups> {
  const server = await startScriptedServer(t, say);
  const lookups = createLookups({
    servers: [{ host: "127.0.0.1", port: server.port }],
    clock: systemClock,
    log: silentLog,
    ...(code === "ETIMEOUT" && { attemptMs: 40 }),
  });
  t.after(() => lookups.close());
  return lookups;
}

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
const held = createSpool({ dir: "/nonexistent", ids: randomIds });
const MESSAGE =
  "From: ada@sender.test\r\nTo: box@routed.test\r\nSubject: x\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <1@sender.test>\r\n\r\nHello\r\n";

for (const [what, failure] of Object.entries(FAILURES)) {
  const { code } = failure;
  describe(`a DNS server that responds with ${what}`, () => {
    const permanent = PASSES.has(code);

    test("reports the failure for every record type", async (t) => {
      const lookups = await lookupsBy(t, failure);
      const answers = await Promise.all(
        TYPES.map(async (type) => [
          type,
          await lookups.resolve("a.test", type).then(
            () => "answered",
            (err: { code: string }) => err.code,
          ),
        ]),
      );
      assert.deepEqual(
        answers.filter(([type, found]) => found !== code && !(type === "CNAME" && found === "ESERVFAIL" && !permanent)),
        [],
      );
    });

    test("mail to such a domain bounces if the domain does not exist, and is deferred if its existence is unknown", async (t) => {
      const routed = await findNextHops("a.test", {
        resolver: await lookupsBy(t, failure),
        port: 25,
        families: [4, 6],
        ownNames: new Set(),
        mayConnect: () => true,
        random: Math.random,
      });
      assert.ok(!routed.ok);
      assert.deepEqual([routed.permanent, routed.reply.code], permanent ? [true, 550] : [false, 451]);
      // The MX record exists, but the address lookup of its host fails.
      const hosts = await findNextHops("a.test", {
        resolver: { ...(await lookupsBy(t, failure)), resolveMx: async () => [{ exchange: "mx.a.test", priority: 1 }] },
        port: 25,
        families: [4, 6],
        ownNames: new Set(),
        mayConnect: () => true,
        random: Math.random,
      });
      assert.deepEqual(hosts.ok ? hosts : [hosts.permanent, hosts.reply.code], permanent ? [true, 550] : [false, 451]);
    });

    test("a sender without a record is unauthenticated, and a message whose sender lookups fail is deferred", async (t) => {
      const lookups = await lookupsBy(t, failure);
      const authenticator = createAuthenticator({
        resolver: lookups.resolve,
        authservId: "mx.test",
        clock: systemClock,
      });
      t.after(() => authenticator.close());
      const fields = await createSigner({ clock: systemClock }).sign(held.fromMemory(Buffer.from(MESSAGE)), {
        dkim: [
          {
            domain: "sender.test",
            selector: "k",
            privateKey: keys.privateKey.export({ format: "pem", type: "pkcs8" }) as string,
          },
        ],
      });
      const signed = held.fromMemory(Buffer.from(fields + MESSAGE));
      const { spf, dkim, accept, reply } = await authenticator.check(
        { from: "ada@sender.test", helo: "sender.test", ip: "192.0.2.1" },
        signed,
      );
      assert.equal(accept, false);
      assert.deepEqual(
        [spf.result, dkim.map(({ result }) => result)[0], reply!.code],
        permanent ? ["none", "neutral", 550] : ["temperror", "temperror", 451],
      );
    });

    test("a failed lookup counts as no block list entry, no DANE and no reverse DNS", async (t) => {
      const lookups = await lookupsBy(t, failure);
      assert.equal(
        await createBlockLists({
          lists: ["bl.test"],
          resolver: lookups.resolve,
          clock: systemClock,
          log: silentLog,
        }).find("192.0.2.1"),
        undefined,
      );
      await assert.rejects(lookups.resolve("1.2.0.192.in-addr.arpa", "PTR"), { code });
      const dane = await Promise.resolve(createDane({ lookups, port: 25 })("a.test", "mx.a.test")).then(
        ({ kind }) => kind,
      );
      assert.equal(dane, permanent ? "none" : "unknown");
    });
  });
}
