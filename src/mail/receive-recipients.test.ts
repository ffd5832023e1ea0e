import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnedRoute } from "./routing/index.ts";
import type { Verdict } from "./authenticate/index.ts";
import { mailErrors } from "./errors.ts";
import {
  clock,
  ids,
  log,
  memoryTrace,
  memoryTransport,
  newSpool,
  runtimeOf,
  summarizeResults,
} from "./mail.testing.ts";
import type { Envelope } from "./messages/index.ts";
import { createReceiver, type ReceiverOptions } from "./receive.ts";

/** Tests replies to recipients before and after the message, and which senders are authenticated. */

const MESSAGE = "Received: ours\r\nFrom: a@sender.example\r\nSubject: hi\r\n\r\nbody\r\n";
const envelope = (to: string[], from = "a@sender.example"): Envelope => ({
  from,
  to,
  helo: "x",
  ip: "192.0.2.1",
  smtputf8: false,
});
const ROUTES: Record<string, OwnedRoute> = {
  "w@here.example": { kind: "worker", script: "acc/w", account: "acc", zone: "z" },
  "gone@here.example": { kind: "worker", script: "acc/gone", account: "acc", zone: "z", temporary: true },
  "d@here.example": { kind: "drop", account: "acc", zone: "z" },
};

async function setUp(more: Partial<ReceiverOptions> = {}) {
  const spool = await newSpool();
  const trace = memoryTrace();
  const transport = memoryTransport();
  const receiver = createReceiver({
    runtime: runtimeOf({ "acc/w": () => {} }),
    transport,
    spool,
    trace,
    clock,
    ids,
    log,
    route(rcpt) {
      if (rcpt.startsWith("broken")) throw new Error("secret: database unavailable");
      return ROUTES[rcpt] ?? { kind: "none" };
    },
    ...more,
  });
  const receive = async (to: string[], from?: string) =>
    summarizeResults(await receiver.receive(envelope(to, from), spool.fromMemory(Buffer.from(MESSAGE))));
  return { receiver, receive, trace, transport, spool };
}

/** Returns an authenticator that follows the test script and adds a field. */
const judge = (accept: boolean): NonNullable<ReceiverOptions["authenticator"]> => ({
  check: async () =>
    ({
      accept,
      spf: { result: "none" },
      dkim: [],
      dmarc: { result: "none" },
      arc: { result: "none" },
      reply: { code: 550, enhanced: "5.7.26", text: "who are you" },
    }) as unknown as Verdict,
  addResults: (source) => source,
});

const bounces: NonNullable<ReceiverOptions["bounces"]> = {
  isReturnPath: (rcpt) => rcpt.endsWith("@fwd.example"),
  check: async (rcpt, { from }) =>
    from === "" && !rcpt.startsWith("forged") ? undefined : { code: 550, enhanced: "5.1.1", text: "no bounce" },
  async process({ rcpt }) {
    if (rcpt.startsWith("forged")) throw mailErrors.noSuchRecipient({ address: rcpt });
    if (rcpt.startsWith("broken")) throw new Error("secret");
    return { rcpt, ok: true };
  },
  bounce: async () => false,
};

test("accepts, defers or rejects each recipient before the message", async () => {
  const { receiver } = await setUp({ bounces });
  const answer = async (rcpt: string, from?: string) => {
    const reply = await receiver.checkRecipient(rcpt, envelope([], from));
    return reply === undefined ? "welcome" : `${reply.code} ${reply.enhanced} ${reply.text}`;
  };
  assert.equal(await answer("w@here.example"), "welcome");
  assert.equal(await answer("d@here.example"), "welcome");
  assert.equal(await answer("x@here.example"), "550 5.1.1 No such recipient: x@here.example");
  assert.equal(
    await answer("gone@here.example"),
    "451 4.3.0 Mail for this address is temporarily rejected, try again later",
  );
  assert.equal(await answer("broken@here.example"), "451 4.3.0 Message processing failed, try again later");
  assert.equal(await answer("srs@fwd.example", ""), "welcome");
  assert.equal(await answer("srs@fwd.example"), "550 5.1.1 no bounce");
});

test("defers mail to a worker that does not exist yet", async () => {
  const { receive } = await setUp();
  assert.deepEqual(await receive(["gone@here.example"]), [
    "451 4.3.0 Mail for this address is temporarily rejected, try again later",
  ]);
});

test("does not authenticate senders of bounces, but authenticates other mail", async () => {
  const { receive, trace } = await setUp({ bounces, authenticator: judge(false) });
  assert.deepEqual(await receive(["srs@fwd.example"], ""), ["ok"]);
  assert.deepEqual(
    trace.events.map(({ step }) => step),
    ["received"],
  );
  assert.deepEqual(await receive(["srs@fwd.example", "w@here.example"], ""), ["ok", "550 5.7.26 who are you"]);
  assert.deepEqual(await receive(["forged@fwd.example"], ""), ["550 5.1.1 No such recipient: forged@fwd.example"]);
  assert.deepEqual(await receive(["broken@fwd.example"], ""), ["451 4.3.0 Message processing failed, try again later"]);
});

test("accepts complaints only from an identified sender", async () => {
  const stranger = await setUp({ bounces, authenticator: judge(false) });
  assert.deepEqual(await stranger.receive(["srs@fwd.example"], "fbl@provider.example"), ["550 5.7.26 who are you"]);
  const provider = await setUp({ bounces, authenticator: judge(true) });
  assert.deepEqual(await provider.receive(["srs@fwd.example"], "fbl@provider.example"), ["ok"]);
});

test("authenticates the author of a complaint by DMARC or, without a policy, by the envelope sender", async () => {
  const asking: typeof bounces = {
    ...bounces,
    process: async ({ rcpt, isAuthenticated }) =>
      (await isAuthenticated())
        ? { rcpt, ok: true }
        : { rcpt, ok: false, temporary: false, reply: { code: 550, enhanced: "5.7.26", text: "unknown author" } },
  };
  const verdictOf = (dmarc: string, { spf = "none", dkim = [] as { result: string; domain: string }[] } = {}) =>
    ({
      accept: true,
      spf: { result: spf, identity: "mailfrom" },
      dkim,
      dmarc: { result: dmarc },
      arc: { result: "none" },
    }) as unknown as Verdict;
  const said = async (verdict: Verdict | undefined, from: string) => {
    const { receive } = await setUp({
      bounces: asking,
      ...(verdict && { authenticator: { check: async () => verdict, addResults: (source) => source } }),
    });
    return (await receive(["srs@fwd.example"], from))[0];
  };
  const sender = "fbl@provider.example";
  for (const from of ["", sender]) assert.equal(await said(verdictOf("pass"), from), "ok", from);
  assert.equal(await said(verdictOf("none", { spf: "pass" }), sender), "ok");
  assert.equal(await said(verdictOf("none", { dkim: [{ result: "pass", domain: "provider.example" }] }), sender), "ok");
  const refused: [Verdict | undefined, string][] = [
    [verdictOf("none"), sender],
    [verdictOf("none", { spf: "pass" }), ""],
    [verdictOf("fail", { spf: "pass" }), sender],
    [verdictOf("temperror", { spf: "pass" }), sender],
    [verdictOf("none", { dkim: [{ result: "pass", domain: "other.example" }] }), sender],
    [undefined, sender],
    [undefined, ""],
  ];
  for (const [verdict, from] of refused)
    assert.equal(await said(verdict, from), "550 5.7.26 unknown author", JSON.stringify([verdict, from]));
  const dark = await setUp({
    bounces: asking,
    authenticator: { ...judge(true), check: () => Promise.reject(mailErrors.verifierBusy()) },
  });
  assert.match(
    (await dark.receive(["srs@fwd.example"], ""))[0]!,
    /^451 4\.3\.2/,
    "a temporary failure makes the reporter retry",
  );
});

test("an authentication error defers all recipients, and a rejection applies to all and is logged for each", async () => {
  const broken = await setUp({ authenticator: { ...judge(true), check: () => Promise.reject(new Error("secret")) } });
  assert.deepEqual(await broken.receive(["w@here.example"]), ["451 4.3.0 Message processing failed, try again later"]);
  const unclear = await setUp({
    authenticator: {
      ...judge(true),
      check: () => Promise.reject(mailErrors.authenticationUnclear({ what: "the SPF record of x" })),
    },
  });
  assert.deepEqual(await unclear.receive(["w@here.example"]), [
    "451 4.4.3 DNS lookup failed (the SPF record of x), try again later",
  ]);
  const { receive, trace } = await setUp({ authenticator: judge(false) });
  assert.deepEqual(await receive(["w@here.example", "broken@here.example"]), [
    "550 5.7.26 who are you",
    "550 5.7.26 who are you",
  ]);
  assert.deepEqual(
    trace.events.filter(({ step }) => step === "rejected").map(({ rcpt, account, zone }) => [rcpt, account, zone]),
    [
      ["w@here.example", "acc", "z"],
      ["broken@here.example", undefined, undefined],
    ],
  );
});

test("retries a queued message for one recipient, including the waitUntil() work of its worker", async () => {
  const ended = Promise.withResolvers<void>();
  const { receiver, spool } = await setUp({
    runtime: { email: async () => ({ outcome: "ok", ended: ended.promise }) },
  });
  const source = spool.fromMemory(Buffer.from(MESSAGE));
  const mail = { envelope: envelope(["w@here.example"]), source, recipients: [] };
  const reply = { code: 451, enhanced: "4.3.0", text: "later" };
  let over = false;
  const tried = receiver.retry(mail, { rcpt: "w@here.example", reply }).finally(() => (over = true));
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(over, false);
  ended.resolve();
  assert.deepEqual(await tried, { rcpt: "w@here.example", ok: true });
  assert.partialDeepStrictEqual(await receiver.retry(mail, { rcpt: "x@here.example", reply }), {
    ok: false,
    temporary: false,
  });
});

test("a forward() in waitUntil() that the next hop rejects is reported to the sender", async () => {
  const forwardLater = (...to: string[]): ReceiverOptions["runtime"] => ({
    email: async (_script, _mail, actions) => ({
      outcome: "ok",
      waitUntilSettled: Promise.allSettled(to.map((address) => actions.forward(address, []))).then(() => {}),
      // The record of the invocation has not arrived.
      ended: new Promise<void>(() => {}),
    }),
  });
  const transport = memoryTransport((rcpt) => {
    const code = Number(/^(\d{3})@/.exec(rcpt)?.[1] ?? 250);
    if (code === 250) return { rcpt, ok: true };
    return { rcpt, ok: false, temporary: code < 500, reply: { code, enhanced: `${(code / 100) | 0}.1.1`, text: "no" } };
  });
  const replies = async (...to: string[]) => {
    const { receive } = await setUp({ runtime: forwardLater(...to), transport });
    return receive(["w@here.example"]);
  };
  assert.deepEqual(await replies("550@there.example"), ["550 5.1.1 no"]);
  assert.deepEqual(await replies("451@there.example"), ["451 4.1.1 no"]);
  assert.deepEqual(await replies("ok@there.example"), ["ok"]);
  // The worker had another destination for the message.
  assert.deepEqual(await replies("550@there.example", "ok@there.example"), ["ok"]);
});

test("a bounce queued because other recipients already had the message is processed as a bounce again", async () => {
  const { receiver, spool } = await setUp({ bounces });
  const mail = {
    envelope: envelope(["srs@fwd.example"], ""),
    source: spool.fromMemory(Buffer.from(MESSAGE)),
    recipients: [],
  };
  assert.deepEqual(
    await receiver.retry(mail, { rcpt: "srs@fwd.example", reply: { code: 450, enhanced: "4.7.1", text: "too many" } }),
    { rcpt: "srs@fwd.example", ok: true },
  );
});
