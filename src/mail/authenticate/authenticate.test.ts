import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { after, test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { createBodyHash, messageSignature } from "../../protocol/dkim/index.ts";
import { newSpool } from "../mail.testing.ts";
import type { MailSource } from "../messages/index.ts";
import { createAuthenticator, type Authenticator, type AuthenticatorOptions } from "./authenticate.ts";
import { clock, keyOf, mail, PEER, recordOf, textOf } from "./authenticate.testing.ts";
import { createSigner, type PemSigningKey } from "./sign.ts";
import { noAnswer, tableResolver } from "./suites.testing.ts";
import { traceDetail } from "./verdict.ts";

const RSA = keyOf("a.example");
const ED = keyOf("a.example", "ed25519");
const OTHER = keyOf("other.example");
const FORWARDER = keyOf("list.example");

const ZONE: Record<string, unknown[] | Error> = {
  "a.example TXT": [["v=spf1 ip4:192.0.2.0/28 -all"]],
  "_dmarc.a.example TXT": [["v=DMARC1; p=reject; sp=quarantine"]],
  "sub.a.example TXT": [["v=spf1 -all"]],
  "other.example TXT": [["v=spf1 ip4:192.0.2.0/28 ~all"]],
  "slow.example TXT": noAnswer("ETIMEOUT"),
  "broken.example TXT": [["v=spf1 include:broken.example -all"]],
  "mx.other.example TXT": [["v=spf1 a -all"]],
  "mx.other.example A": [PEER],
  "_dmarc.q.example TXT": [["v=DMARC1; p=quarantine"]],
  "_dmarc.n.example TXT": [["v=DMARC1; p=none"]],
  "_dmarc.dark.example TXT": noAnswer("ESERVFAIL"),
  ...recordOf(RSA),
  ...recordOf(ED),
  ...recordOf(OTHER),
  ...recordOf(FORWARDER),
};

const signer = createSigner({ clock });
const open: Authenticator[] = [];
after(() => Promise.all(open.map((one) => one.close())));

function authenticator(options: Partial<AuthenticatorOptions> = {}, changes: Record<string, unknown[] | Error> = {}) {
  const resolver = tableResolver({ ...ZONE, ...changes });
  const made = createAuthenticator({ resolver, authservId: "mx.us.example", clock, ...options });
  open.push(made);
  return { ...made, resolver };
}

const { check, addResults } = authenticator();

const from = (sender: string, ip = PEER) => ({ from: sender, helo: "mx.other.example", ip });
const HEADER = "From: Alice <alice@a.example>\nTo: bob@us.example\nSubject: hi\n";

async function signedMail(text: string, ...keys: PemSigningKey[]): Promise<MailSource> {
  const source = mail(text);
  return mail((await signer.sign(source, { dkim: keys })) + (await textOf(source)));
}

test("accepts a message with valid SPF, two valid DKIM signatures and a DMARC pass, and records the results", async () => {
  const verdict = await check(from("alice@a.example"), await signedMail(`${HEADER}\nHello\n`, RSA, ED));
  assert.deepEqual(
    {
      ...verdict,
      summary: 0,
      fields: 0,
      dkim: verdict.dkim.map(({ result, domain, algorithm }) => [result, domain, algorithm]),
    },
    {
      spf: { result: "pass", domain: "a.example", identity: "mailfrom" },
      dkim: [
        ["pass", "a.example", "rsa-sha256"],
        ["pass", "a.example", "ed25519-sha256"],
      ],
      dmarc: { result: "pass", from: "a.example", policy: "reject", aligned: { spf: "a.example", dkim: "a.example" } },
      arc: { result: "none", instance: 0 },
      accept: true,
      quarantine: false,
      summary: 0,
      fields: 0,
    },
  );
  assert.match(
    verdict.fields,
    /^Authentication-Results: mx\.us\.example;\r\n\tspf=pass smtp\.mailfrom=alice@a\.example;\r\n\tdkim=pass header\.d=a\.example header\.s=rsa header\.a=rsa-sha256 header\.b=\S+;/,
  );
  assert.match(
    verdict.fields,
    /\r\nReceived-SPF: pass \(mx\.us\.example: domain of a\.example designates 192\.0\.2\.10 as permitted sender\)\r\n\tclient-ip=192\.0\.2\.10; envelope-from="alice@a\.example";\r\n\thelo=mx\.other\.example; receiver=mx\.us\.example; identity=mailfrom\r\n$/,
  );
  assert.partialDeepStrictEqual(traceDetail(verdict), {
    spf: "pass",
    dkim: "pass",
    dmarc: "pass",
    arc: "none",
    accept: true,
  });
});

const reply = async (...args: Parameters<typeof check>) => (await check(...args)).reply;
const ELSEWHERE = "198.51.100.1";

test("rejects a message without SPF and DKIM with 550 5.7.26, and accepts it with either one", async () => {
  const text = "From: x@unknown.example\n\nHello\n";
  const refused = await reply(from("x@unknown.example"), mail(text));
  assert.deepEqual(
    [refused?.code, refused?.enhanced, refused?.text],
    [550, "5.7.26", `Message from unknown.example (${PEER}) rejected: SPF none, DKIM none`],
  );
  assert.equal(await reply(from("x@other.example"), mail(text)), undefined);
  assert.equal(await reply(from("x@unknown.example"), await signedMail(text, OTHER)), undefined);
  assert.equal((await reply(from("x@broken.example"), mail(text)))?.code, 550);
  assert.equal((await check(from("x@unknown.example"), mail(text), { policy: { require: "nothing" } })).accept, true);
});

test("DMARC policy `reject` causes 550 5.7.1, `quarantine` adds a tag, and `none` has no effect", async () => {
  const rejected = await check(from("x@other.example"), mail(`${HEADER}\nHello\n`));
  assert.deepEqual(
    [rejected.accept, rejected.reply],
    [false, { code: 550, enhanced: "5.7.1", text: "Message rejected by the DMARC policy of a.example" }],
  );
  const set = await check(from("x@other.example"), mail("From: x@q.example\n\nHello\n"));
  assert.deepEqual(
    [set.accept, set.quarantine, set.why],
    [true, true, "DMARC fails for q.example, whose policy is quarantine"],
  );
  assert.match(set.fields, /\r\nX-Reelpost-Quarantine: DMARC fails for q\.example/);
  assert.match(set.summary, /dmarc=fail header\.from=q\.example policy\.dmarc=quarantine/);
  const sub = await check(from("x@other.example"), mail("From: x@sub.a.example\n\nHello\n"));
  assert.deepEqual([sub.quarantine, sub.dmarc.policy], [true, "quarantine"]);
  const none = await check(from("x@other.example"), mail("From: x@n.example\n\nHello\n"));
  assert.deepEqual([none.accept, none.quarantine, none.dmarc.result], [true, false, "fail"]);
  const lenient = await check(from("x@other.example"), mail(`${HEADER}\nHello\n`), {
    policy: { dmarcFail: { none: "accept", quarantine: "accept", reject: "quarantine" } },
  });
  assert.deepEqual([lenient.accept, lenient.quarantine], [true, true]);
});

test("applies the configured policy to an SPF fail", async () => {
  const source = await signedMail(`${HEADER}\nHello\n`, RSA);
  assert.equal((await check(from("alice@a.example", ELSEWHERE), source)).accept, true);
  assert.deepEqual(await reply(from("alice@a.example", ELSEWHERE), source, { policy: { spfFail: "reject" } }), {
    code: 550,
    enhanced: "5.7.23",
    text: `SPF check failed: ${ELSEWHERE} may not send mail for a.example`,
  });
});

test("defers a message if a DNS query fails and its result matters", async () => {
  const deferred = async (...args: Parameters<typeof check>) => {
    const said = await reply(...args);
    assert.deepEqual([said?.code, said?.enhanced], [451, "4.4.3"], JSON.stringify(said));
    return said!.text;
  };
  assert.match(
    await deferred(from("x@slow.example"), mail("From: x@slow.example\n\nx\n")),
    /SPF record of slow\.example/,
  );
  assert.match(
    await deferred(from("x@other.example"), mail("From: x@dark.example\n\nx\n")),
    /DMARC policy of dark\.example/,
  );
  const signed = await signedMail(`${HEADER}\nHello\n`, RSA);
  const noKey = authenticator({}, { "rsa._domainkey.a.example TXT": noAnswer("ESERVFAIL") });
  assert.deepEqual((await noKey.check(from("x@unknown.example"), signed)).reply?.code, 451);
  // SPF has a temporary error, but a signature is valid and DMARC passes: the result does not depend on SPF.
  assert.equal((await check(from("x@slow.example"), signed)).accept, true);
  // The signature whose key lookup failed might have aligned.
  assert.deepEqual((await noKey.check(from("x@other.example"), signed)).reply?.code, 451);
  assert.equal(
    (await noKey.check(from("x@other.example"), signed, { policy: { temporary: "accept" } })).reply?.code,
    550,
  );
  assert.equal(
    (await check(from("x@slow.example"), mail("From: x@slow.example\n\nx\n"), { policy: { temporary: "accept" } }))
      .accept,
    true,
  );
});

test("does not defer because of a deleted key or a name that is invalid in DNS", async () => {
  const gone = authenticator({}, { "rsa._domainkey.a.example TXT": noAnswer("ENOTFOUND") });
  const { dkim } = await gone.check(from("alice@a.example"), await signedMail(`${HEADER}\nHello\n`, RSA));
  assert.deepEqual([dkim[0]!.result, dkim[0]!.why], ["neutral", "no key"]);
  const source = await signedMail(`${HEADER}\nHello\n`, { ...RSA, domain: `${"x".repeat(80)}.example` });
  assert.equal((await check(from("x@unknown.example"), source)).reply?.code, 550);
});

test("checks the HELO name for the null sender, and can accept bounces without authentication", async () => {
  const text = "From: MAILER-DAEMON@other.example\nSubject: failure\n\nx\n";
  assert.deepEqual((await check(from(""), mail(text))).spf, {
    result: "pass",
    domain: "mx.other.example",
    identity: "helo",
  });
  const unknown = { ...from(""), helo: "nobody.example" };
  assert.equal((await check(unknown, mail(text))).reply?.code, 550);
  assert.equal((await check(unknown, mail(text), { policy: { requireOfBounces: false } })).accept, true);
});

test("handles messages with several authors or none", async () => {
  const two = await check(from("x@other.example"), mail("From: a@a.example\nFrom: b@b.example\n\nx\n"));
  assert.deepEqual([two.reply?.code, two.reply?.enhanced], [550, "5.7.1"]);
  assert.equal((await check(from("x@other.example"), mail("From: a@a.example, b@b.example\n\nx\n"))).accept, false);
  for (const text of ["To: x@y.example\n\nx\n", "From: nobody\n\nx\n", "", "\n", "no header at all"]) {
    const none = await check(from("x@other.example"), mail(text));
    assert.deepEqual([none.accept, none.quarantine], [true, true], text);
  }
});

test("rejects signatures that cover only part of the body, and rsa-sha1 signatures", async () => {
  const source = await signedMail(`${HEADER}\nHello\n`, RSA);
  const text = await textOf(source);
  const altered = await check(from("x@unknown.example"), mail(text.replace("Hello", "Bye")));
  assert.deepEqual([altered.dkim[0]!.result, altered.accept], ["neutral", false]);
  const { dkimSign } = await import("mailauth");
  const old = async (options: object) => {
    const { signatures } = await dkimSign(Buffer.from(await textOf(mail(`${HEADER}\nHello\n`))), {
      signatureData: [{ ...RSA, signingDomain: RSA.domain, signTime: new Date(clock.now()), ...options }],
    } as never);
    return check(
      from("x@unknown.example"),
      mail(`${signatures}${HEADER}\nHello\n${"maxBodyLength" in options ? "more\n" : ""}`),
    );
  };
  const sha1 = await old({ algorithm: "rsa-sha1" });
  assert.deepEqual([sha1.dkim[0]!.result, sha1.accept], ["policy", false]);
  const partial = await old({ maxBodyLength: 7 });
  assert.deepEqual(
    [partial.dkim[0]!.result, partial.dkim[0]!.why, partial.accept],
    ["policy", "6 octets of the body are not signed", false],
  );
});

/** Resolves with a message signed with `key` and this `i=` value. */
async function signedAs(identity: string, key: PemSigningKey): Promise<MailSource> {
  const bodyHash = createBodyHash();
  bodyHash.push(Buffer.from("Hello\r\n"));
  const fields = HEADER.trimEnd()
    .split("\n")
    .map((line) => `${line}\r\n`);
  const field = await messageSignature(
    "DKIM-Signature",
    `v=1; i=${identity}`,
    { fields, bodyHash: bodyHash.digest(), time: clock.now() / 1000 },
    { ...key, key: createPrivateKey(key.privateKey) },
  );
  return mail(`${field}${HEADER}\nHello\n`);
}

test("rejects a signature whose i= is outside d= (RFC 6376 6.1.1)", async () => {
  const result = async (identity: string) =>
    (await check(from("x@other.example"), await signedAs(identity, RSA))).dkim[0]!;
  for (const inside of ["@a.example", "alice@a.example", "@sub.a.example", "alice@deep.sub.A.EXAMPLE"])
    assert.equal((await result(inside)).result, "pass", inside);
  for (const outside of ["@other.example", "alice@example", "@xa.example", "@a.example.evil.example", "a.example"]) {
    assert.partialDeepStrictEqual(
      await result(outside),
      { result: "permerror", domain: "a.example", why: "domain mismatch between i= and d=" },
      outside,
    );
  }
  const refused = await check(from("x@unknown.example"), await signedAs("@other.example", RSA));
  assert.deepEqual([refused.accept, refused.dmarc.result], [false, "fail"]);
  const dark = authenticator({}, { "rsa._domainkey.a.example TXT": noAnswer("ESERVFAIL") });
  assert.equal(
    (await dark.check(from("x@other.example"), await signedAs("@other.example", RSA))).dkim[0]!.result,
    "permerror",
    "no key could make it valid",
  );
});

test("enforces the key flag t=s: i= must be d= itself (RFC 6376 3.6.1)", async () => {
  const [name, [[first, ...rest]]] = Object.entries(recordOf(RSA))[0] as [string, [string[]]];
  const result = async (flags: string, identity: string) => {
    const strict = authenticator({}, { [name]: [[`${first!.replace("k=rsa;", `k=rsa; ${flags}`)}`, ...rest]] });
    return (await strict.check(from("x@other.example"), await signedAs(identity, RSA))).dkim[0]!.result;
  };
  assert.equal(await result("t=s;", "alice@A.example"), "pass");
  assert.equal(await result("t=s;", "alice@sub.a.example"), "permerror");
  assert.equal(await result("t=y : s;", "@sub.a.example"), "permerror");
  assert.equal(await result("t=y;", "@sub.a.example"), "pass");
});

test("a trusted forwarder's ARC seal overrides DMARC, and the server's own seal is added on top", async () => {
  const original = await signedMail(`${HEADER}\nHello\n`, RSA);
  const first = await check(from("alice@a.example"), original);
  const listed = (await textOf(original)).replace("Subject: hi", "Subject: [list] hi");
  const passed = mail((await signer.sign(mail(listed), { seal: { key: FORWARDER, verdict: first } })) + listed);
  const verdict = await check(from("x@other.example"), passed);
  assert.deepEqual(
    [verdict.reply?.code, verdict.arc.result, verdict.arc.sealer, verdict.arc.said?.dmarc],
    [550, "pass", "list.example", "pass"],
  );
  const trusting = { policy: { trustedSealers: ["List.example"] } };
  const trusted = await check(from("x@other.example"), passed, trusting);
  assert.deepEqual([trusted.accept, trusted.dmarc.result], [true, "fail"]);
  const sealed =
    (await signer.sign(passed, { dkim: [OTHER], seal: { key: OTHER, verdict: trusted } })) + (await textOf(passed));
  const next = await check(from("x@other.example"), mail(sealed));
  assert.deepEqual(
    [next.arc.result, next.arc.instance, next.arc.sealer, next.dkim[0]!.result],
    ["pass", 2, "other.example", "pass"],
  );
  assert.equal(
    (await check(from("x@other.example"), mail((await textOf(passed)).replace("[list]", "[evil]")), trusting)).reply
      ?.code,
    550,
  );
});

test("a large message is checked on another thread, from a file or from memory, with the same result", async () => {
  const body = `${"All work and no play makes Jack a dull boy.  \r\n".repeat(30_000)}`;
  const spool = await newSpool();
  const small = authenticator({ inlineBytes: 0 });
  const whole = Buffer.from(await textOf(await signedMail(`${HEADER}\n${body}`, RSA, ED)));
  for (const source of [
    spool.fromMemory(whole),
    await spool.collect(
      (async function* () {
        yield whole;
      })(),
    ),
  ]) {
    const verdict = await small.check(from("alice@a.example"), source);
    assert.deepEqual(verdict, await authenticator({ inlineBytes: 1e9 }).check(from("alice@a.example"), source));
    assert.deepEqual(
      verdict.dkim.map(({ result }) => result),
      ["pass", "pass"],
    );
    await source.discard();
  }
  assert.ok(small.resolver.queries.includes("rsa._domainkey.a.example TXT"));
  const tiny = await small.check(from("alice@a.example"), mail(""));
  assert.equal(tiny.dkim[0]!.result, "none");
});

test("a read error or a slow thread defers only the affected message", async () => {
  const stuck = authenticator(
    { inlineBytes: 0, threads: { threads: 1, jobMs: 5000, maxWaiting: 1 } },
    { "rsa._domainkey.a.example TXT": noAnswer("ETIMEOUT") },
  );
  const source = await signedMail(`${HEADER}\nHello\n`, ED);
  const broken: MailSource = {
    ...source,
    open: () => {
      throw new Error("disk gone");
    },
  };
  const code = (err: unknown) => err instanceof UserError && err.entry.smtp === 451;
  await assert.rejects(stuck.check(from("alice@a.example"), broken), code);
  const waiting = Promise.withResolvers<Uint8Array>();
  const hanging: MailSource = {
    ...source,
    open: () =>
      (async function* () {
        yield await waiting.promise;
      })() as never,
  };
  const [first, second, third] = await Promise.allSettled(
    [hanging, source, source].map((one) => stuck.check(from("alice@a.example"), one)),
  );
  assert.ok(first!.status === "rejected" && code(first!.reason));
  assert.equal(second!.status, "fulfilled");
  assert.ok(third!.status === "rejected" && code(third!.reason), "only one message may wait");
  waiting.resolve(new Uint8Array());
});

test("limits the number of lines, signatures and lookups in hostile headers", { timeout: 240_000 }, async () => {
  const started = performance.now();
  await assert.rejects(
    check(from("x@other.example"), mail(`From: a@n.example\nX: ${"\n ".repeat(20_001)}\n\nx\n`)),
    (err: unknown) => err instanceof UserError && err.entry.smtp === 554,
  );
  const many = Array.from(
    { length: 2000 },
    (_, i) => `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=d${i}.example; s=s; l=${i}; h=from; bh=x; b=x\n`,
  ).join("");
  const flooded = authenticator();
  const verdict = await flooded.check(from("x@other.example"), mail(`${many}From: a@n.example\n\nx\n`));
  assert.equal(verdict.dkim.length, 10);
  const wide = `From: a@n.example\n${"To: x@y.example\n".repeat(9000)}DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=a.example; s=rsa; h=from:${"x:".repeat(7000)}to; bh=x; b=x\n`;
  await flooded.check(from("x@other.example"), mail(`${wide}\nx\n`));
  await flooded.check(
    from("x@other.example"),
    mail(`From: a@n.example\n${`References:${"\n <x@y>".repeat(19_000)}\n`}\nx\n`),
  );
  await flooded.check(
    from("x@other.example"),
    mail(`From: ${"(".repeat(20_000)}\nAuthentication-Results: ${"(".repeat(20_000)}\n\nx\n`),
  );
  assert.ok(performance.now() - started < 60_000, `${performance.now() - started} ms`);
});

test("does not exceed the maximum number of DNS queries per message", async () => {
  const few = authenticator({ lookups: { lookups: 1 } });
  const verdict = await few.check(from("alice@a.example"), await signedMail(`${HEADER}\nHello\n`, RSA));
  assert.equal(few.resolver.queries.length, 1);
  assert.equal(verdict.reply?.code, 451);
});

test("removes only forged results under the server's authserv-id", async () => {
  const others =
    "Authentication-Results: mx.else.example; spf=pass\nAuthentication-Results: (mx.us.example) mx2.us.example; x=y\n";
  const forged = [
    "Authentication-Results: mx.us.example; spf=pass\n",
    "authentication-results :\n (a (b) \\) c)\n MX.US.example. 1; dkim=pass\n",
    'Authentication-Results: "mx.us.example"; dmarc=pass\n',
    "Authentication-Results: ((( mx.else.example\n",
    "Authentication-Results:\n",
    "X-Reelpost-Quarantine: no\n",
    "X-reelpost-quarantine : no\n",
  ];
  const source = mail(`${forged.join("")}${others}${HEADER}\nbody\n`);
  const result = addResults(source, { fields: "Authentication-Results: mx.us.example; spf=fail\r\n" });
  const wanted = `Authentication-Results: mx.us.example; spf=fail\n${others}${HEADER}\nbody\n`.replaceAll("\n", "\r\n");
  assert.equal(await textOf(result), wanted);
  assert.equal(result.size, wanted.length);
  for (const start of [0, 5, result.headerBlock.length, result.headerBlock.length + 3, result.size])
    assert.equal(await textOf(result, start), wanted.slice(start));
});

test("results with hostile text each stay a single field", async () => {
  const evil = 'x"y\\z;(a)@other.example';
  const { fields } = await check(
    { from: evil, helo: 'h"\\\u00e9 (;', ip: PEER },
    mail(
      'From: "a\r\n b" <a@n.example>\nDKIM-Signature: v=1; a=rsa-sha256; d=evil(\u00e9).example; s=a"b; h=from; bh=x; b=(((\n\nx\n',
    ),
  );
  assert.deepEqual(fields.match(/^\S[^:]*:/gm), ["Authentication-Results:", "Received-SPF:"]);
  assert.match(fields, /^[\t\r\n -~]*$/);
  assert.match(fields, /envelope-from="x\\"y\\\\z;\(a\)@other\.example"/);
});
