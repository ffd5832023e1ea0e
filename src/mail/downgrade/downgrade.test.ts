import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { Readable } from "node:stream";
import { after, test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createManualClock, silentLog, systemClock } from "../../kernel/index.ts";
import type { OwnedRoute } from "../routing/index.ts";
import { keyOf, recordOf } from "../authenticate/authenticate.testing.ts";
import { createSigner } from "../authenticate/index.ts";
import { hasDkimpy, verifyWithDkimpy } from "../forwarding/dkimpy.testing.ts";
import { bodyOf, DNS, namesOf, ownRecords, signedBy, startHost } from "../forwarding/forwarding.testing.ts";
import { resolverOf, startSink, type Sink, type SinkRules } from "../outbound/outbound.testing.ts";
import { createDeliveryAgent, type ReplayableBody, type DeliveryAttempt } from "../outbound/index.ts";
import { createDowngrade } from "./downgrade.ts";

/** Uses real SMTP servers without 8BITMIME (RFC 6152) or SMTPUTF8 (RFC 6531) as next hops. */

const latin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
const OLD: SinkRules = { hide8BITMIME: true, hideSMTPUTF8: true };
const skip = !hasDkimpy && process.env["REQUIRE_ALL"] !== "1" && "dkimpy is not installed";
const toBob: OwnedRoute = { kind: "forward", to: ["bob@there.example"], account: "acc", zone: "one" };
const FIELDS =
  "From: Alice <alice@a.example>\nTo: info@one.example\nSubject: hello\nDate: Mon, 5 Jan 2026 07:08:09 +0000\nMessage-ID: <1@a.example>\n";
const EIGHT_BIT = `${FIELDS}MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${latin1("Grüße\n.\nfrom here\n")}`;
const dns = { ...DNS, ...ownRecords("fwd.one.example", "one.example") };

async function forwarder(t: TestContext, rules: SinkRules = {}) {
  const sink = await startSink(rules);
  return { sink, ...(await startHost(t, { name: "one", routes: () => toBob, nextPort: sink.port })) };
}

test(
  "encodes a forward for a server without 8BITMIME, with valid DKIM signatures and ARC seal",
  { skip },
  async (t) => {
    const { sink, take } = await forwarder(t, OLD);
    const message = await signedBy("a.example", EIGHT_BIT);
    assert.match(await take(Buffer.from(message, "latin1"), { to: ["info@one.example"] }), /^250/);
    const [{ raw, args }] = sink.mails as [Sink["mails"][number]];
    assert.equal(bodyOf(raw), "Gr=C3=BC=C3=9Fe\r\n.\r\nfrom here\r\n");
    assert.match(raw, /\r\nContent-Transfer-Encoding: quoted-printable\r\n/);
    assert.deepEqual([args["BODY"], args["SMTPUTF8"]], [undefined, undefined]);
    assert.deepEqual(namesOf(raw).slice(0, 6), [
      "ARC-Seal",
      "ARC-Message-Signature",
      "ARC-Authentication-Results",
      "DKIM-Signature",
      "DKIM-Signature",
      "X-Reelpost-Loop",
    ]);
    assert.deepEqual(await verifyWithDkimpy(raw, dns), {
      dkim: [true, true, false],
      arc: "pass",
      sets: 1,
      reason: "success",
    });
    assert.match(raw, /ARC-Authentication-Results: i=1; mx\.one\.example;[^]*?dkim=pass header\.d=a\.example/);
  },
);

test("the ARC chain stays valid after the encoding", { skip }, async (t) => {
  const { sink, take } = await forwarder(t, OLD);
  const first = await forwarder(t);
  await first.take(Buffer.from(await signedBy("a.example", EIGHT_BIT), "latin1"), { to: ["info@one.example"] });
  const sealed = first.sink.mails[0]!;
  // The other forwarder has the same name but a different key for its loop mark.
  assert.match(
    await take(Buffer.from(sealed.raw.replace(/^X-Reelpost-Loop:.*\r\n/m, ""), "latin1"), {
      from: sealed.from,
      ip: "127.0.0.1",
      to: ["info@one.example"],
    }),
    /^250/,
  );
  const { arc, sets, dkim } = await verifyWithDkimpy(sink.mails[0]!.raw, dns);
  assert.deepEqual([arc, sets, dkim.slice(0, 2)], ["pass", 2, [true, true]]);
});

test("sends the unchanged message with valid foreign signatures to a server with 8BITMIME", { skip }, async (t) => {
  const { sink, take } = await forwarder(t, { hideSMTPUTF8: true });
  const message = await signedBy("a.example", EIGHT_BIT);
  await take(Buffer.from(message, "latin1"), { to: ["info@one.example"] });
  const [{ raw, args }] = sink.mails as [Sink["mails"][number]];
  assert.equal(bodyOf(raw), bodyOf(message));
  assert.equal(args["BODY"], "8BITMIME");
  assert.deepEqual((await verifyWithDkimpy(raw, dns)).dkim, [true, true, true]);
});

test("rejects during the session a forward that cannot be encoded or has UTF-8 in its header", async (t) => {
  const { sink, take } = await forwarder(t, OLD);
  const report = `${FIELDS}MIME-Version: 1.0\nContent-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n${latin1("Status: ü\n")}\n--b--\n`;
  assert.match(
    await take(Buffer.from(await signedBy("a.example", report), "latin1"), { to: ["info@one.example"] }),
    /^554 5\.6\.3 .*message\/delivery-status/,
  );
  const utf8 = await signedBy("a.example", `${FIELDS.replace("hello", latin1("Grüße"))}\nplain\n`);
  assert.match(await take(Buffer.from(utf8, "latin1"), { to: ["info@one.example"] }), /^550 5\.6\.7 .*SMTPUTF8/);
  assert.deepEqual(sink.mails, []);
});

// ---- mail of local accounts

const KEY = keyOf("here.example");
const SIGNED_BY: Record<string, unknown[]> = recordOf(KEY);
const signer = createSigner({ clock: systemClock });

interface OwnMail extends ReplayableBody {
  opened: Readable[];
}

/** Resolves with a message as stored in the queue: signed, in a file. */
async function ownMail(text: string, more: Partial<ReplayableBody> = {}): Promise<OwnMail> {
  const message = Buffer.from(text.replace(/\r?\n/g, "\r\n"), "utf8");
  const header = message.subarray(0, message.indexOf("\r\n\r\n") + 2);
  const signature = await signer.sign(
    { headerBlock: header, open: (start = 0) => message.subarray(start) },
    { dkim: [KEY] },
  );
  const bytes = Buffer.concat([Buffer.from(signature), message]);
  const opened: Readable[] = [];
  return {
    size: bytes.length,
    eightBit: !isAscii(bytes),
    utf8Header: !isAscii(header),
    opened,
    open() {
      const stream = Readable.from(
        [...Array(Math.ceil(bytes.length / 1000)).keys()].map((at) => bytes.subarray(at * 1000, at * 1000 + 1000)),
        { objectMode: false },
      );
      opened.push(stream);
      return stream;
    },
    ...more,
  };
}

async function send(
  body: ReplayableBody,
  rules: SinkRules,
  own = true,
): Promise<{ sink: Sink; said: string; attempt: DeliveryAttempt }> {
  const sink = await startSink(rules);
  const downgrade = createDowngrade({
    signer,
    findKey: async (domain, selector) => (domain === KEY.domain && selector === KEY.selector ? KEY : undefined),
  });
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver: resolverOf({ "there.example": { a: ["127.0.0.1"] } }),
    port: sink.port,
    downgrade,
  });
  after(() => agent.close());
  const attempt = await agent.deliver(
    "there.example",
    { from: "app@here.example", to: [{ rcpt: "b@there.example" }], body, own },
    new AbortController().signal,
  );
  const [{ outcome, reply }] = attempt.results as [DeliveryAttempt["results"][number]];
  return { sink, attempt, said: `${outcome} ${reply.code} ${reply.enhanced} ${reply.text}` };
}

const OWN =
  'From: Böb Ünïcode <app@here.example>\nTo: "Carol, C." <c@there.example>, Dörte <d@there.example>\nSubject: Grüße aus Köln\nX-Note: ä\nDate: Mon, 5 Jan 2026 07:08:09 +0000\nMessage-ID: <1@here.example>\n\nplain text, 8 bit: ü\n';

test(
  "converts UTF-8 header fields of an account's mail to encoded words for a server without SMTPUTF8",
  { skip },
  async () => {
    for (const rules of [OLD, { hideSMTPUTF8: true }, { hide8BITMIME: true }]) {
      const { sink, said } = await send(await ownMail(OWN), rules);
      assert.match(said, /^delivered/, JSON.stringify(rules));
      const { raw, args } = sink.mails[0]!;
      const [header, body] = [raw.slice(0, raw.indexOf("\r\n\r\n")).replace(/\r\n[ \t]/g, " "), bodyOf(raw)];
      assert.equal(args["SMTPUTF8"], undefined);
      assert.ok(isAscii(Buffer.from(header, "latin1")));
      const encoded = (text: string) =>
        text.replace(/=\?UTF-8\?Q\?([^?]*)\?=/gi, (_, q: string) =>
          Buffer.from(
            q
              .replaceAll("_", " ")
              .replace(/=([0-9A-F]{2})/g, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
            "latin1",
          ).toString("utf8"),
        );
      const fields = encoded(header).split("\r\n");
      for (const wanted of [
        "From: Böb Ünïcode <app@here.example>",
        'To: "Carol, C." <c@there.example>, Dörte <d@there.example>',
        "Subject: Grüße aus Köln",
        "X-Note: ä",
      ])
        assert.ok(fields.includes(wanted), `${wanted} in ${fields.join("\n")}`);
      assert.equal(body, rules.hide8BITMIME ? "plain text, 8 bit: =C3=BC\r\n" : latin1("plain text, 8 bit: ü\r\n"));
      assert.deepEqual((await verifyWithDkimpy(raw, SIGNED_BY)).dkim, [true]);
    }
  },
);

test("sends an account's mail unchanged to a server with both extensions", async () => {
  const { sink } = await send(await ownMail(OWN), {});
  assert.match(sink.mails[0]!.raw, new RegExp(latin1("Subject: Grüße aus Köln")));
  assert.equal(sink.mails[0]!.args["SMTPUTF8"], true);
});

test("rejects system mail and forwards with 5.6.7 if the header cannot be expressed in encoded words", async () => {
  for (const field of [
    "To: dörte@there.example",
    "Subject: =?utf-8?Q?=C3=A4?= ü",
    "To: Dörte (at work) <d@there.example>",
    "To: Gruppe ü: d@there.example;",
    "References: <ü@x>",
    "Content-Type: text/plain; name=ü",
  ]) {
    const { said, sink } = await send(await ownMail(`From: app@here.example\n${field}\n\nx\n`), OLD);
    assert.match(said, new RegExp(`^permanent 550 5\\.6\\.7 .*${field.split(":")[0]}`), field);
    assert.deepEqual(sink.mails, []);
  }
  const foreign = await send(await ownMail(OWN), { hideSMTPUTF8: true }, false);
  assert.match(foreign.said, /^permanent 550 5\.6\.7/);
});

test("rejects an 8-bit header that is not UTF-8 with 5.6.3, but only if 8BITMIME is missing", async () => {
  const body = await ownMail("From: app@here.example\nSubject: x\n\nx\n", { eightBit: true });
  const text = Buffer.from("From: app@here.example\r\nSubject: \xfc\r\n\r\nx\r\n", "latin1");
  const odd: ReplayableBody = { ...body, size: text.length, open: () => text };
  assert.match((await send(odd, OLD)).said, /^permanent 554 5\.6\.3/);
  assert.match((await send(odd, { hideSMTPUTF8: true })).said, /^delivered/);
});

test("encodes a message without a local signature and does not sign it", async () => {
  const body = await ownMail("From: app@here.example\nDKIM-Signature: v=1; d=else.example; s=s; b=x\n\nü\n");
  const stranger = Buffer.from(
    "DKIM-Signature: v=1; d=else.example; s=s; b=x\r\nFrom: app@here.example\r\n\r\n\xc3\xbc\r\n",
    "latin1",
  );
  const { sink } = await send({ ...body, size: stranger.length, open: () => stranger }, OLD);
  assert.match(
    sink.mails[0]!.raw,
    /^DKIM-Signature: v=1; d=else\.example; s=s; b=x\r\nFrom: app@here\.example\r\nContent-Transfer-Encoding: quoted-printable\r\nMIME-Version: 1\.0\r\nContent-Type: text\/plain; charset=utf-8\r\n\r\n=C3=BC\r\n$/,
  );
});

test("declares the size of the converted message", async () => {
  const { sink } = await send(
    await ownMail(
      `From: app@here.example\nMIME-Version: 1.0\nContent-Type: application/octet-stream\n\n${"ü".repeat(5000)}\n`,
    ),
    { ...OLD, size: 1_000_000 },
  );
  const { raw, args } = sink.mails[0]!;
  assert.equal(args["SIZE"], String(raw.length));
  const small = await send(await ownMail(`From: app@here.example\n\n${"ü".repeat(5000)}\n`), { ...OLD, size: 12_000 });
  assert.match(
    small.said,
    /^permanent 552 5\.3\.4 .* accepts at most 12000 bytes/,
    "the converted message exceeds the server's limit",
  );
});

test("closes every opened message stream when the attempt ends", async () => {
  const large = `From: app@here.example\n\n${"ü\n".repeat(20_000)}`;
  const part = "From: app@here.example\nMIME-Version: 1.0\nContent-Type: message/delivery-status\n\n";
  const ends: [string, SinkRules][] = [
    [large, OLD],
    [large, { ...OLD, rcpt: () => "550 5.1.1 no" }],
    [large, { ...OLD, mail: () => "451 4.3.0 later" }],
    [large, { ...OLD, data: () => "554 5.7.1 spam" }],
    [large, { ...OLD, size: 100 }],
    [`${part}${large}`, OLD],
  ];
  for (const [text, rules] of ends) {
    const body = await ownMail(text);
    await send(body, rules);
    await new Promise(setImmediate);
    assert.ok(body.opened.length > 0);
    assert.deepEqual(
      body.opened.map(({ destroyed }) => destroyed),
      body.opened.map(() => true),
      JSON.stringify(Object.keys(rules)),
    );
  }
});

test("a read error during conversion is a temporary failure", async () => {
  const { open: _, ...body } = await ownMail("From: app@here.example\n\nü\n");
  async function* half() {
    yield Buffer.from("From: app@here.example\r\n\r\n\xc3\xbc", "latin1");
    throw new Error("disk gone");
  }
  const { said, sink } = await send({ ...body, open: () => Readable.from(half(), { objectMode: false }) }, OLD);
  assert.match(said, /^temporary 451 4\.3\.0 .*disk gone/);
  assert.deepEqual(sink.mails, []);
});

test("memory use does not depend on the message size", { timeout: 240_000 }, async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const chunk = Buffer.from("ü äöß\r\n".repeat(6000), "utf8");
  const chunks = 100;
  let [held, most] = [0, 0];
  const finalizers = new FinalizationRegistry(() => void held--);
  async function* text() {
    yield Buffer.from("From: app@here.example\r\n\r\n");
    for (let n = 0; n < chunks; n++) {
      const piece = Buffer.allocUnsafeSlow(chunk.length);
      chunk.copy(piece);
      finalizers.register(piece.buffer, undefined);
      most = Math.max(most, ++held);
      yield piece;
      if (n % 10 !== 0) continue;
      collect();
      await new Promise(setImmediate);
    }
  }
  const { said } = await send(
    {
      size: chunk.length * chunks + 26,
      eightBit: true,
      utf8Header: false,
      open: () => Readable.from(text(), { objectMode: false }),
    },
    OLD,
  );
  assert.match(said, /^delivered/);
  assert.ok(most < 40, `${most} of ${chunks} chunks were buffered`);
});
