import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../kernel/index.ts";
import type { OwnedRoute } from "../routing/index.ts";
import { createAuthenticator, type Verdict } from "../authenticate/index.ts";
import { tableResolver } from "../authenticate/suites.testing.ts";
import { startSink, type SinkRules } from "../outbound/outbound.testing.ts";
import { hasDkimpy, verifyWithDkimpy } from "./dkimpy.testing.ts";
import {
  bodyOf,
  DNS,
  headerOf,
  namesOf,
  ownRecords,
  signedBy,
  startHost,
  type HostOptions,
} from "./forwarding.testing.ts";

/**
 * Tests mail that is received, authenticated and forwarded to a real SMTP server; the message received there is
 * authenticated again.
 */

const FIELDS =
  "From: Alice <alice@a.example>\nTo: info@one.example\nSubject: hello\nDate: Mon, 5 Jan 2026 07:08:09 +0000\nMessage-ID: <1@a.example>\n";
// Contains dots that need stuffing, non-text bytes, trailing white space and empty lines.
const BODY = "..dot\r\n.\r\n\xe9\xff \t\r\n--\r\ntail  \r\n\r\n\r\n";
const toBob: OwnedRoute = { kind: "forward", to: ["bob@there.example"], account: "acc", zone: "one" };

async function setUp(
  t: TestContext,
  { sink: rules = {}, ...options }: Partial<HostOptions> & { sink?: SinkRules } = {},
) {
  const sink = await startSink(rules);
  const host = await startHost(t, { name: "one", routes: () => toBob, nextPort: sink.port, ...options });
  return { sink, ...host };
}

/** Resolves with the authentication results at the next hop. */
async function judged(raw: string, from: string, ip = "127.0.0.1"): Promise<Verdict> {
  const authenticator = createAuthenticator({
    resolver: tableResolver({ ...DNS, ...ownRecords("fwd.one.example", "one.example", "fwd.two.example") }),
    authservId: "mx.there.example",
    clock: systemClock,
  });
  const bytes = Buffer.from(raw, "latin1");
  const headerBlock = bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 2);
  const verdict = await authenticator.check(
    { from, helo: "mx.one.example", ip },
    { id: "1", size: bytes.length, headerBlock, open: (start = 0) => bytes.subarray(start), discard: async () => {} },
  );
  await authenticator.close();
  return verdict;
}

test("seals a forward, signs it twice, sends it from a local address, and keeps its body unchanged", async (t) => {
  const { sink, take, srs, events } = await setUp(t);
  const message = await signedBy("a.example", `Authentication-Results: mx.one.example; dmarc=pass\n${FIELDS}\n${BODY}`);
  assert.equal(await take(Buffer.from(message, "latin1"), { to: ["info@one.example"] }), "250 2.6.0 Message accepted");
  const [got] = sink.mails;
  assert.equal(bodyOf(got!.raw), bodyOf(message));
  assert.deepEqual(got!.to, ["bob@there.example"]);
  assert.deepEqual(srs.reverse(got!.from, Date.now()), { ok: true, address: "alice@a.example" });
  assert.deepEqual(namesOf(got!.raw), [
    "ARC-Seal",
    "ARC-Message-Signature",
    "ARC-Authentication-Results",
    "DKIM-Signature",
    "DKIM-Signature",
    "X-Reelpost-Loop",
    "X-Forwarded-To",
    "X-Forwarded-For",
    "Authentication-Results",
    "Received-SPF",
    "Received",
    "DKIM-Signature",
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
  ]);
  assert.ok(
    got!.raw.includes(
      "\r\nX-Forwarded-To: bob@there.example\r\nX-Forwarded-For: info@one.example bob@there.example\r\n",
    ),
  );
  // Results forged under the server's name are removed.
  assert.ok(!got!.raw.includes("mx.one.example; dmarc=pass"));

  const verdict = await judged(got!.raw, got!.from);
  assert.deepEqual(
    verdict.dkim.map(({ result, domain }) => `${domain} ${result}`),
    ["fwd.one.example pass", "one.example pass", "a.example pass"],
  );
  assert.deepEqual(
    [verdict.spf.result, verdict.dmarc.result, verdict.dmarc.aligned.dkim],
    ["pass", "pass", "a.example"],
  );
  assert.partialDeepStrictEqual(verdict.arc, {
    result: "pass",
    instance: 1,
    sealer: "fwd.one.example",
    said: { spf: "pass", dkim: ["pass"], dmarc: "pass" },
  });

  const steps = events.map(({ step, rcpt, account, zone }) =>
    [step, rcpt, account, zone].filter((word) => word !== undefined).join(" "),
  );
  assert.deepEqual(
    steps.filter((step) => !step.startsWith("delivered")),
    ["received", "authenticated", "matched info@one.example acc one", "forwarded info@one.example acc one"],
  );
  const delivered = events.find(({ step }) => step === "delivered")!;
  assert.equal(delivered.rcpt, "info@one.example");
  assert.equal(new Set(events.map((event) => event.message)).size, 1);
  assert.partialDeepStrictEqual(events[0]!.detail, {
    from: "alice@a.example",
    subject: "hello",
    messageId: "<1@a.example>",
  });
});

test(
  "dkimpy, another implementation, verifies the signatures and the ARC seal",
  { skip: !hasDkimpy && process.env["REQUIRE_ALL"] !== "1" && "dkimpy is not installed" },
  async (t) => {
    const { sink, take } = await setUp(t);
    await take(Buffer.from(await signedBy("a.example", `${FIELDS}\n${BODY}`), "latin1"), { to: ["info@one.example"] });
    const raw = sink.mails[0]!.raw;
    const dns = { ...DNS, ...ownRecords("fwd.one.example", "one.example") };
    assert.deepEqual(await verifyWithDkimpy(raw, dns), {
      dkim: [true, true, true],
      arc: "pass",
      sets: 1,
      reason: "success",
    });
    const changed = raw.replace("\r\nSubject: hello", "\r\nSubject: hullo");
    assert.deepEqual((await verifyWithDkimpy(changed, dns)).dkim, [false, false, false]);
  },
);

test("extends a valid ARC chain, closes a broken one, and does not extend a closed one", async (t) => {
  const { sink, take } = await setUp(t);
  const second = await setUp(t, {
    name: "two",
    routes: () => ({ kind: "forward", to: ["carol@there.example"], zone: "two" }),
    dns: ownRecords("fwd.one.example", "one.example"),
  });
  const onward = async (raw: string, from: string, to = "info@two.example") => {
    assert.match(await second.take(Buffer.from(raw, "latin1"), { from, ip: "127.0.0.1", to: [to] }), /^250/);
    return second.sink.mails.at(-1)!;
  };
  const seals = (raw: string) =>
    headerOf(raw)
      .filter((field) => field.startsWith("ARC-Seal:"))
      .map((field) => /i=(\d+);.*cv=(\w+)/.exec(field)!.slice(1, 3).join(" "));

  await take(await signedBy("a.example", `${FIELDS}\nhello\n`), { to: ["info@one.example"] });
  const { raw, from } = sink.mails[0]!;
  const good = await onward(raw, from);
  assert.deepEqual(seals(good.raw), ["2 pass", "1 none"]);
  assert.equal((await judged(good.raw, good.from)).arc.result, "pass");

  // A mailing list changes the subject and signs the message: this breaks the chain, and the next ARC set records that.
  const broken = await onward(
    await signedBy(
      "one.example",
      raw
        .replace("Subject: hello", "Subject: [list] hello")
        .replace("From: Alice <alice@a.example>", "From: list@one.example"),
    ),
    from,
  );
  assert.deepEqual(seals(broken.raw), ["2 fail", "1 none"]);
  const third = await onward(broken.raw, "x@one.example", "another@two.example");
  assert.deepEqual(seals(third.raw), ["2 fail", "1 none"], "no ARC set is added to a failed chain");
});

test("authenticated senders get an SRS address, other senders a token, and the null sender stays null", async (t) => {
  const { sink, take, srs, tokens } = await setUp(t);
  const long = `bounces+848413-e276-some.person=mail.example@a.example`;
  const cases: [
    from: string,
    ip: string,
    expected: RegExp,
    token?: { sender: string; senderAuthenticated: boolean },
  ][] = [
    ["alice@a.example", "192.0.2.10", /^SRS0=/],
    // SPF fails, but the signature of the sender's domain is valid.
    ["alice@a.example", "198.51.100.1", /^SRS0=/],
    // A signature of another domain does not authenticate this sender.
    [
      "victim@b.example",
      "198.51.100.1",
      /^token1@fwd\.one\.example$/,
      { sender: "victim@b.example", senderAuthenticated: false },
    ],
    [long, "192.0.2.10", /^token2@/, { sender: long, senderAuthenticated: true }],
    ["", "192.0.2.10", /^$/],
    [
      "SRS0=0000=AA=x.example=joe@other.example",
      "192.0.2.10",
      /^token3@/,
      { sender: "SRS0=0000=AA=x.example=joe@other.example", senderAuthenticated: false },
    ],
  ];
  for (const [from, ip, expected, token] of cases) {
    assert.match(
      await take(await signedBy("a.example", `${FIELDS}\nhello\n`), { from, ip, to: ["info@one.example"] }),
      /^250/,
      from,
    );
    assert.match(sink.mails.at(-1)!.from, expected, from);
    if (token)
      assert.partialDeepStrictEqual(tokens.at(-1), {
        ...token,
        account: "acc",
        zone: "one",
        inbound: { rcpt: "info@one.example" },
      });
  }
  assert.equal(tokens.length, 3);
  const ours = srs.forward("alice@a.example", Date.now());
  assert.ok(ours.ok);
  await take(await signedBy("a.example", `${FIELDS}\nhello\n`), {
    from: ours.address,
    ip: "127.0.0.1",
    to: ["info@one.example"],
  });
  assert.equal(sink.mails.at(-1)!.from, ours.address, "a return path of this server is unchanged");
});

test("rejected mail is not forwarded, and the rejection is logged for the right account", async (t) => {
  const { sink, take, events } = await setUp(t);
  assert.match(
    await take("From: x@a.example\r\n\r\nforged\r\n", {
      from: "x@a.example",
      ip: "198.51.100.1",
      to: ["info@one.example"],
    }),
    /^550 5\.7\.\d+ /,
  );
  assert.equal(sink.mails.length, 0);
  assert.deepEqual(
    events.map(({ step, rcpt, account }) => [step, rcpt, account].join(" ").trim()),
    ["received", "authenticated", "rejected info@one.example acc"],
  );
});

test("returns the next hop's reply to the sender", async (t) => {
  const { take, sink } = await setUp(t, {
    sink: { rcpt: (to) => (to.startsWith("bob") ? "550 5.1.1 no such user" : undefined) },
  });
  assert.equal(
    await take(await signedBy("a.example", `${FIELDS}\nhello\n`), { to: ["info@one.example"] }),
    "550 5.1.1 no such user",
  );
  assert.equal(sink.mails.length, 0);
});

test("forwards the DSN parameters, with the recipient address that the sender used", async (t) => {
  const { sink, take } = await setUp(t);
  const dsn = {
    ret: "HDRS" as const,
    envid: "e1",
    to: { "info@one.example": { notify: ["SUCCESS" as const, "FAILURE" as const] } },
  };
  await take(await signedBy("a.example", `${FIELDS}\nhello\n`), { to: ["info@one.example"], dsn });
  await take(await signedBy("a.example", `${FIELDS}\nhello\n`), {
    from: "victim@b.example",
    ip: "198.51.100.1",
    to: ["info@one.example"],
    dsn,
  });
  const [known, unknown] = sink.mails;
  assert.partialDeepStrictEqual(known, {
    args: { RET: "HDRS", ENVID: "e1" },
    rcptArgs: [{ NOTIFY: "SUCCESS,FAILURE", ORCPT: "rfc822;info@one.example" }],
  });
  assert.deepEqual(Object.keys(unknown!.rcptArgs[0]!), [], "no reports are requested for an unknown sender");
});

test("a worker's forward and reply have X- headers on top, a signature, and the receiving domain as sender", async (t) => {
  const { sink, take, events } = await setUp(t, {
    routes: () => ({ kind: "worker", script: "acc/w", account: "acc", zone: "one" }),
    receiver: { rules: { isVerified: (address, { account }) => account === "acc" && address === "bob@there.example" } },
    handlers: {
      async "acc/w"({ headers }, actions) {
        const id = headers.find(([name]) => name === "Message-ID")![1];
        assert.match(headers.find(([name]) => name === "Authentication-Results")![1], /^mx\.one\.example;.*dmarc=pass/);
        await assert.rejects(actions.forward("eve@there.example", []), /destination address not verified/);
        await actions.forward("bob@there.example", [["X-Seen", "yes"]]);
        await actions.reply({
          from: "info@one.example",
          to: "alice@a.example",
          raw: Readable.from([
            Buffer.from(
              `From: info@one.example\r\nMessage-ID: <r@one.example>\r\nIn-Reply-To: ${id}\r\nSubject: Re: hello\r\n\r\nthanks\r\n`,
            ),
          ]),
        });
      },
    },
  });
  assert.equal(
    await take(Buffer.from(await signedBy("a.example", `${FIELDS}\n${BODY}`), "latin1"), { to: ["info@one.example"] }),
    "250 2.6.0 Message accepted",
  );
  const [forward, reply] = sink.mails;
  assert.ok(namesOf(forward!.raw).indexOf("X-Seen") < namesOf(forward!.raw).indexOf("Received"));
  assert.match(forward!.from, /^SRS0=.*@fwd\.one\.example$/);
  assert.equal((await judged(forward!.raw, forward!.from)).dkim.filter(({ result }) => result === "pass").length, 3);
  assert.deepEqual([reply!.from, reply!.to], ["info@one.example", ["alice@a.example"]]);
  const verdict = await judged(reply!.raw, reply!.from);
  assert.deepEqual([verdict.dmarc.result, verdict.dmarc.aligned.dkim, verdict.dkim.length], ["pass", "one.example", 1]);
  assert.deepEqual(
    events.map(({ step }) => step).filter((step) => ["forwarded", "replied", "handled"].includes(step)),
    ["forwarded", "replied", "handled"],
  );
  assert.ok(
    events
      .slice(2)
      .every(({ rcpt, account, step }) => rcpt === "info@one.example" && (account === "acc" || step === "delivered")),
  );
});

test("sends no reply to mail that fails DMARC", async (t) => {
  const { sink, take } = await setUp(t, {
    routes: () => ({ kind: "worker", script: "w" }),
    handlers: {
      async w({ headers }, actions) {
        const id = headers.find(([name]) => name === "Message-ID")![1];
        await assert.rejects(
          actions.reply({
            from: "info@one.example",
            to: "x@b.example",
            raw: Readable.from([
              Buffer.from(`From: info@one.example\r\nMessage-ID: <r@one.example>\r\nIn-Reply-To: ${id}\r\n\r\n`),
            ]),
          }),
          /Original email is not replyable/,
        );
      },
    },
  });
  assert.equal(
    await take("From: x@b.example\r\nMessage-ID: <2@b.example>\r\n\r\nhi\r\n", {
      from: "x@b.example",
      to: ["info@one.example"],
    }),
    "250 2.6.0 Message accepted",
  );
  assert.equal(sink.mails.length, 0);
});

test("forwards a message on disk byte for byte", async (t) => {
  const { sink, take } = await setUp(t);
  const body = Array.from({ length: 6000 }, (_, i) => `${i} ${"x".repeat(i % 90)}`).join("\n");
  const message = await signedBy("a.example", `${FIELDS}\n${body}\n`);
  assert.ok(message.length > 256 * 1024);
  assert.match(await take(message, { to: ["info@one.example"] }), /^250/);
  const [got] = sink.mails;
  assert.equal(bodyOf(got!.raw), bodyOf(message));
  assert.deepEqual(
    (await judged(got!.raw, got!.from)).dkim.map(({ result }) => result),
    ["pass", "pass", "pass"],
  );
});

test("keeps the header section of a forward to or from a non-ASCII address in ASCII", async (t) => {
  const { sink, take } = await setUp(t, { routes: () => ({ ...toBob, zone: "one" }) });
  assert.match(
    await take(await signedBy("a.example", `${FIELDS}\nhello\n`), { to: ["käthe@one.example"], smtputf8: true }),
    /^250/,
  );
  assert.ok(!namesOf(sink.mails[0]!.raw).includes("X-Forwarded-For"));
  // oxlint-disable-next-line no-control-regex
  assert.match(sink.mails[0]!.raw, /^[\x00-\x7f]*$/);
});
