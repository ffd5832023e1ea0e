import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { createMimeMessage } from "mimetext";
import PostalMime from "postal-mime";
import { clock, ids, memoryTransport, newSpool } from "../mail.testing.ts";
import { readMessage, type DeliveryResult } from "../messages/index.ts";
import { createReplyActions } from "./reply.ts";

const INCOMING = "From: a@sender.example\r\nMessage-ID: <in@sender.example>\r\n";

async function setUp({
  incoming = "",
  from = "a@sender.example",
  to = "b@here.example",
  maxBytes,
  answer,
}: {
  incoming?: string;
  from?: string;
  to?: string;
  maxBytes?: number;
  answer?: (rcpt: string) => DeliveryResult;
} = {}) {
  const spool = await newSpool({ memoryBytes: 1000, maxBytes });
  const transport = memoryTransport(answer);
  const message = readMessage(
    spool.fromMemory(Buffer.from(`${incoming.includes("Message-ID") ? incoming : INCOMING + incoming}\r\nhello\r\n`)),
  );
  const delivered: string[] = [];
  const { reply, replyBuilt } = createReplyActions({
    live: { id: "1", message, from, to, script: "w" },
    transport,
    spool,
    clock,
    ids,
    onReplied: async (mail) => void delivered.push(mail.messageId),
  });
  const answerWith = (fields: string[] | string, options: { from?: string; to?: string; body?: string } = {}) =>
    reply({
      from: options.from ?? "b@here.example",
      to: options.to ?? "a@sender.example",
      raw: Readable.from(
        [Buffer.from(Array.isArray(fields) ? `${fields.join("\r\n")}\r\n\r\n${options.body ?? "thanks"}` : fields)],
        { objectMode: false },
      ),
    });
  return { answerWith, replyBuilt, transport, delivered, spool };
}

const GOOD = ["From: Bo <b@here.example>", "Message-ID: <out@here.example>", "In-Reply-To: <in@sender.example>"];
const headersOf = (raw: string) => raw.slice(0, raw.indexOf("\r\n\r\n")).split(/\r\n(?![ \t])/);

test("sends a reply to the sender with a local Message-ID, References, a date and the auto-reply header", async () => {
  const { answerWith, transport, delivered } = await setUp();
  const { messageId } = await answerWith([...GOOD, "Bcc: hidden@x.example"]);
  assert.match(messageId, /^<[A-Za-z0-9]{36}@here\.example>$/);
  const [mail] = transport.sent;
  assert.deepEqual(
    { cause: mail!.cause, from: mail!.from, to: mail!.to, id: mail!.messageId },
    { cause: "reply", from: "b@here.example", to: ["a@sender.example"], id: messageId },
  );
  assert.deepEqual(headersOf(mail!.raw), [
    "References: <in@sender.example>",
    "Auto-Submitted: auto-replied",
    `Message-ID: ${messageId}`,
    "Date: Mon, 5 Jan 2026 07:08:09 +0000",
    "From: Bo <b@here.example>",
    "In-Reply-To: <in@sender.example>",
  ]);
  assert.ok(mail!.raw.endsWith("\r\n\r\nthanks"));
  assert.deepEqual(delivered, [messageId]);
});

test("accepts a reply built with mimetext", async () => {
  const { answerWith, transport } = await setUp();
  const mime = createMimeMessage();
  mime.setHeader("In-Reply-To", "<in@sender.example>");
  mime.setSender({ name: "Bo", addr: "b@here.example" });
  mime.setRecipient("a@sender.example");
  mime.setSubject("Grüße");
  mime.addMessage({ contentType: "text/plain", data: "danke" });
  await answerWith(mime.asRaw());
  const parsed = await PostalMime.parse(Buffer.from(transport.sent[0]!.raw, "latin1"));
  assert.deepEqual(
    [parsed.subject, parsed.text?.trim(), parsed.references, parsed.messageId],
    ["Grüße", "danke", "<in@sender.example>", transport.sent[0]!.messageId],
  );
  assert.doesNotMatch(transport.sent[0]!.raw, /(?<!\r)\n|\r(?!\n)/, "the message contains no bare CR or LF");
});

test("References continue the thread of the incoming message", async () => {
  const { answerWith, transport } = await setUp({ incoming: "In-Reply-To: <0@x>\r\nReferences: <0@x>\r\n <1@x>\r\n" });
  await answerWith(GOOD);
  assert.equal(headersOf(transport.sent[0]!.raw)[0], "References: <0@x> <1@x> <in@sender.example>");
});

for (const [text, fields, options] of [
  ["From: header does not match mail from", ["From: other@here.example", ...GOOD.slice(1)]],
  ["From: header does not match mail from", GOOD.slice(1)],
  ["invalid message-id", [GOOD[0]!, GOOD[2]!]],
  ["invalid headers set", [...GOOD, "Received: from x by y; today"]],
  ["no In-Reply-To header found in reply message", GOOD.slice(0, 2)],
  ["In-Reply-To does not match original Message-ID", [...GOOD.slice(0, 2), "In-Reply-To: <other@sender.example>"]],
  ["provided References header is invalid", [...GOOD, "References: <other@sender.example>"]],
  ["provided References header is invalid", [...GOOD, `References: <in@sender.example>${" <x@y>".repeat(100)}`]],
  ["could not parse email: the header section has more than 10020 fields", "A: 1\r\n".repeat(10_021)],
  [
    "email from b@elsewhere.example not allowed",
    ["From: b@elsewhere.example", ...GOOD.slice(1)],
    { from: "b@elsewhere.example" },
  ],
  ["email from  not allowed", GOOD, { from: "" }],
  ["email to c@sender.example not allowed", GOOD, { to: "c@sender.example" }],
] as [string, string[] | string, { from?: string; to?: string }?][]) {
  test(`rejected: ${text}`, async () => {
    const { answerWith, transport, spool } = await setUp();
    await assert.rejects(answerWith(fields, { ...options, body: "x".repeat(5000) }), { message: text });
    assert.equal(transport.sent.length, 0);
    assert.deepEqual(await spool.files(), [], "no spool file remains");
    await answerWith(GOOD);
    assert.equal(transport.sent.length, 1, "a corrected attempt succeeds");
  });
}

test("keeps References set by the worker if they contain the thread", async () => {
  const { answerWith, transport } = await setUp({ incoming: "In-Reply-To: <0@x>\r\nReferences: <0@x>\r\n" });
  await answerWith([...GOOD, "References: <extra@x> <0@x> <in@sender.example>"]);
  assert.equal(transport.sent[0]!.raw.match(/^References:/gm)!.length, 1);
});

for (const [why, incoming, from] of [
  ["requests no automatic replies (X-Auto-Response-Suppress: All)", "X-Auto-Response-Suppress: All\r\n"],
  ["was sent automatically (Auto-Submitted: auto-replied; owner=x)", "Auto-Submitted: auto-replied; owner=x\r\n"],
  ["is bulk mail (Precedence: Bulk)", "Precedence: Bulk\r\n"],
  ["comes from a mailing list (List-Id: <l.example>)", "List-Id: <l.example>\r\n"],
  ["has In-Reply-To: <0@x>, but no References", "In-Reply-To: <0@x>\r\n"],
  ["has References: <0@x>, but no In-Reply-To", "References: <0@x>\r\n"],
  ["References header has 101 entries", `In-Reply-To: <0@x>\r\nReferences:${" <x@y>".repeat(101)}\r\n`],
  ["has a null sender", "", ""],
  ["has no Message-ID", "Message-ID: \r\nFrom: a@sender.example\r\n"],
] as [string, string, string?][]) {
  test(`Original email is not replyable: ${why}`, async () => {
    const { answerWith, replyBuilt, transport } = await setUp({ incoming, from });
    const expected = (err: Error & { fix?: string }) =>
      err.message === "Original email is not replyable" &&
      err.fix?.includes(why) === true &&
      /\. (Skip|Send) .+\.$/.test(err.fix);
    await assert.rejects(answerWith(GOOD), expected);
    await assert.rejects(replyBuilt({ from: "b@here.example", subject: "x", text: "y" }), expected);
    assert.equal(transport.sent.length, 0);
  });
}

test("the fix for a rejected reply contains the rejected values", async () => {
  const { answerWith } = await setUp({ incoming: "In-Reply-To: <0@x>\r\nReferences: <0@x>\r\n" });
  const fixFor = (fields: string[], options = {}) =>
    answerWith(fields, options).then(
      () => "",
      ({ fix }: { fix: string }) => fix,
    );
  assert.match(await fixFor(GOOD.slice(0, 2)), /the Message-ID of the incoming message, <in@sender\.example>/);
  const other = "In-Reply-To: <other@sender.example>";
  assert.equal(
    await fixFor([...GOOD.slice(0, 2), other]),
    "Set In-Reply-To to <in@sender.example>, the Message-ID of the incoming message. Given: <other@sender.example>",
  );
  assert.match(
    await fixFor([...GOOD, "References: <in@sender.example>"]),
    /The given References do not contain <0@x>\.$/,
  );
  assert.match(
    await fixFor([...GOOD, `References: <in@sender.example>${" <x@y>".repeat(100)}`]),
    /The given References have 101 entries\.$/,
  );
  assert.match(await fixFor(GOOD, { from: "b@elsewhere.example" }), /from an address in here\.example/);
  assert.match(await fixFor(GOOD, { to: "c@sender.example" }), /to the sender of the message, a@sender\.example/);
});

test("accepts replies to messages with harmless header values", async () => {
  for (const incoming of [
    "X-Auto-Response-Suppress: None\r\n",
    "Auto-Submitted: No\r\n",
    "Precedence: first-class\r\n",
    `In-Reply-To: <0@x>\r\nReferences:${" <x@y>".repeat(99)}\r\n`,
  ]) {
    const { answerWith, transport } = await setUp({ incoming });
    await answerWith(GOOD);
    assert.equal(transport.sent.length, 1, incoming);
  }
});

test("allows one reply per message, even with concurrent calls, and a retry after a failed delivery", async () => {
  let ok = false;
  const { answerWith, replyBuilt } = await setUp({
    answer: (rcpt) =>
      ok ? { rcpt, ok } : { rcpt, ok, temporary: true, reply: { code: 451, enhanced: "4.3.0", text: "later" } },
  });
  await assert.rejects(answerWith(GOOD), {
    message: "could not send email: Unknown error: transient error (451): 4.3.0 later",
  });
  ok = true;
  const results = await Promise.allSettled([answerWith(GOOD), answerWith(GOOD)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await assert.rejects(answerWith(GOOD), { message: "message already replied to" });
  await assert.rejects(replyBuilt({ from: "b@here.example", subject: "x", text: "y" }), {
    message: "message already replied to",
  });
});

test("counts a delivered reply even if a later step fails", async () => {
  const spool = await newSpool();
  const transport = memoryTransport();
  const live = {
    id: "1",
    message: readMessage(spool.fromMemory(Buffer.from(`${INCOMING}\r\n`))),
    from: "a@sender.example",
    to: "b@here.example",
    script: "w",
  };
  const { replyBuilt } = createReplyActions({
    live,
    transport,
    spool,
    clock,
    ids,
    onReplied: () => Promise.reject(new Error("no disk")),
  });
  const mail = { from: "b@here.example", subject: "x", text: "y" };
  await assert.rejects(replyBuilt(mail), { message: "no disk" });
  await assert.rejects(replyBuilt(mail), { message: "message already replied to" });
  assert.equal(transport.sent.length, 1);
});

test("rejects a reply over the size limit while it is being read", async () => {
  const { answerWith } = await setUp({ maxBytes: 2000 });
  await assert.rejects(answerWith(GOOD, { body: "x".repeat(3000) }), { code: "E_CONTENT_TOO_LARGE" });
});

test("sets the addresses and threading headers of a builder reply automatically", async () => {
  const { replyBuilt, transport } = await setUp({ incoming: "In-Reply-To: <0@x>\r\nReferences: <0@x>\r\n" });
  const { messageId } = await replyBuilt({
    from: { email: "b@here.example", name: "Bö" },
    subject: "Re: hi",
    text: "thanks",
    html: "<p>thanks",
    headers: { "X-Ticket": "7" },
    attachments: [{ content: { base64: "AAE=" }, filename: "a.bin", type: "application/octet-stream" }],
  });
  const [mail] = transport.sent;
  assert.deepEqual(
    [mail!.cause, mail!.to, mail!.messageId, mail!.parts?.text],
    ["reply", ["a@sender.example"], messageId, "thanks"],
  );
  const parsed = await PostalMime.parse(Buffer.from(mail!.raw, "latin1"));
  assert.deepEqual(
    [
      parsed.from,
      parsed.to?.[0]?.address,
      parsed.subject,
      parsed.inReplyTo,
      parsed.references,
      parsed.messageId,
      parsed.text,
      parsed.attachments.length,
    ],
    [
      { name: "Bö", address: "b@here.example" },
      "a@sender.example",
      "Re: hi",
      "<in@sender.example>",
      "<0@x> <in@sender.example>",
      messageId,
      "thanks\n",
      1,
    ],
  );
  assert.ok(parsed.headers.some(({ key, value }) => key === "x-ticket" && value === "7"));
  assert.ok(parsed.headers.some(({ key, value }) => key === "auto-submitted" && value === "auto-replied"));
});

test("applies the same rules to a builder reply", async () => {
  const { replyBuilt } = await setUp();
  const mail = { from: "b@here.example", subject: "x", text: "y" };
  await assert.rejects(replyBuilt({ ...mail, from: "b@elsewhere.example" }), {
    message: "email from b@elsewhere.example not allowed",
  });
  await assert.rejects(replyBuilt({ ...mail, cc: "c@x.example" }), { message: "email to c@x.example not allowed" });
  await assert.rejects(replyBuilt({ ...mail, headers: { "In-Reply-To": "<other@x>" } }), {
    message: "In-Reply-To does not match original Message-ID",
  });
  await assert.rejects(replyBuilt({ ...mail, headers: { References: "<other@x>" } }), {
    message: "provided References header is invalid",
  });
  await assert.rejects(replyBuilt({ ...mail, subject: undefined }), { code: "E_FIELD_MISSING" });
  await replyBuilt({ ...mail, to: "A@sender.example", headers: { "In-Reply-To": "<in@sender.example>" } });
});
