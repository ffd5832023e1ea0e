import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import PostalMime from "postal-mime";
import { UserError } from "../../kernel/index.ts";
import type { SendEmailBinding } from "../../workers/index.ts";
import type { MailBuilderFields } from "../../workers/ports.ts";
import { clock, ids, memoryTrace, memoryTransport, newSpool } from "../mail.testing.ts";
import type { DeliveryResult } from "../messages/index.ts";
import { createSendEmail, type SendLimits } from "./send-email.ts";

async function setUp({
  binding = {},
  isVerified,
  limits,
  answer,
}: {
  binding?: Partial<SendEmailBinding>;
  isVerified?: (address: string) => boolean;
  limits?: Partial<SendLimits>;
  answer?: (rcpt: string) => DeliveryResult;
} = {}) {
  const spool = await newSpool({ memoryBytes: 1000 });
  const [transport, trace] = [memoryTransport(answer), memoryTrace()];
  const port = createSendEmail({ transport, spool, trace, clock, ids, isVerified, limits });
  const caller = { script: "w", binding: { type: "send_email" as const, name: "EMAIL", ...binding } };
  return {
    transport,
    trace,
    spool,
    raw: (message: string, from = "a@here.example", to: string | null = "x@there.example") =>
      port.sendRaw(caller, { from, to, raw: Readable.from([Buffer.from(message)], { objectMode: false }) }),
    built: (mail: MailBuilderFields = {}) =>
      port.sendBuilt(caller, { from: "a@here.example", to: "x@there.example", subject: "hi", text: "hello", ...mail }),
  };
}

const RAW =
  "From: An <a@here.example>\nTo: x@there.example\nMessage-ID: <mine@here.example>\nBcc: secret@x.example\n\nbody\n";

const refused = (message: string | RegExp, code: string) => (err: unknown) => {
  assert.ok(err instanceof UserError, String(err));
  if (typeof message === "string") assert.equal(err.message, message);
  else assert.match(err.message, message);
  assert.equal(err.code, code);
  return true;
};

// ---- EmailMessage

test("sends a raw message with a local identifier, a date, CRLF line endings and no Bcc", async () => {
  const { raw, transport, trace } = await setUp();
  const { messageId } = await raw(RAW);
  assert.match(messageId, /^<[A-Za-z0-9]{36}@here\.example>$/);
  const [mail] = transport.sent;
  assert.deepEqual(
    { cause: mail!.cause, from: mail!.from, to: mail!.to, messageId: mail!.messageId, script: mail!.script },
    { cause: "send", from: "a@here.example", to: ["x@there.example"], messageId, script: "w" },
  );
  assert.equal(
    mail!.raw,
    `Message-ID: ${messageId}\r\nDate: Mon, 5 Jan 2026 07:08:09 +0000\r\nFrom: An <a@here.example>\r\nTo: x@there.example\r\n\r\nbody\r\n`,
  );
  assert.deepEqual(
    trace.events.map(({ step, detail }) => [step, detail]),
    [["sent", { script: "w", binding: "EMAIL", from: "a@here.example", to: ["x@there.example"], messageId }]],
  );
});

for (const [text, message, from, to] of [
  ["From: header does not match mail from", RAW, "other@here.example"],
  ["From: header does not match mail from", RAW.replace(/^From.*\n/, "")],
  ["invalid message-id", RAW.replace(/Message-ID.*\n/, "")],
  ["invalid headers set", `Received: from x by y; today\n${RAW}`],
  ["could not parse email: the header section has more than 10020 fields", "A: 1\n".repeat(10_021)],
  ["'from' is not an email address: \"nobody\"", RAW, "nobody"],
  ["'to' is not an email address: \"X <x@there.example>\"", RAW, undefined, "X <x@there.example>"],
] as [string, string, string?, string?][]) {
  test(`rejects a raw message: ${text}`, async () => {
    const { raw, transport, spool } = await setUp();
    await assert.rejects(raw(`${message}${"x".repeat(3000)}`, from, to), refused(text, "E_VALIDATION_ERROR"));
    assert.equal(transport.sent.length, 0);
    assert.deepEqual(await spool.files(), []);
  });
}

test("streams a large raw message from its spool file, which is deleted afterwards", async () => {
  const { raw, transport, spool } = await setUp();
  await raw(`${RAW}${"line\n".repeat(2000)}`);
  assert.ok(transport.sent[0]!.raw.endsWith("line\r\n".repeat(2000)));
  assert.deepEqual(await spool.files(), []);
});

// ---- the four kinds of binding

test("a binding with one destination supplies it and allows no other", async () => {
  const { raw, built, transport } = await setUp({ binding: { destination_address: "Ops@There.example" } });
  await raw(RAW, undefined, null);
  await built({ to: undefined });
  assert.deepEqual(
    transport.sent.map(({ to }) => to),
    [["Ops@there.example"], ["Ops@there.example"]],
  );
  assert.match(transport.sent[1]!.raw, /^To: Ops@there\.example\r$/m);
  await raw(RAW, undefined, "ops@there.example");
  await assert.rejects(raw(RAW), refused("email to x@there.example not allowed", "E_RECIPIENT_NOT_ALLOWED"));
  await assert.rejects(built(), refused("email to x@there.example not allowed", "E_RECIPIENT_NOT_ALLOWED"));
  assert.equal(transport.sent.length, 3);
});

test("requires a recipient if the binding does not have one destination", async () => {
  const { raw, built } = await setUp();
  await assert.rejects(raw(RAW, undefined, null), refused("'to' is required", "E_FIELD_MISSING"));
  await assert.rejects(built({ to: undefined }), refused("'to' is required", "E_FIELD_MISSING"));
  await assert.rejects(built({ to: [], cc: [] }), refused("'to' is required", "E_FIELD_MISSING"));
});

test("a destination list applies to recipients in to, cc and bcc", async () => {
  const { raw, built } = await setUp({
    binding: { allowed_destination_addresses: ["x@there.example", "y@there.example"] },
  });
  await raw(RAW);
  await built({ cc: "y@there.example", bcc: "X@THERE.example" });
  for (const field of ["to", "cc", "bcc"] as const) {
    await assert.rejects(
      built({ [field]: ["y@there.example", { email: "z@there.example", name: "Z" }] }),
      refused("email to z@there.example not allowed", "E_RECIPIENT_NOT_ALLOWED"),
      field,
    );
  }
  await assert.rejects(
    raw(RAW, undefined, "z@there.example"),
    refused("email to z@there.example not allowed", "E_RECIPIENT_NOT_ALLOWED"),
  );
});

test("a sender list applies to raw and builder messages", async () => {
  const { raw, built } = await setUp({ binding: { allowed_sender_addresses: ["b@here.example"] } });
  await assert.rejects(raw(RAW), refused("email from a@here.example not allowed", "E_SENDER_NOT_VERIFIED"));
  await assert.rejects(built(), refused("email from a@here.example not allowed", "E_SENDER_NOT_VERIFIED"));
  await built({ from: "Bo <B@here.example>" });
});

// ---- the builder

test("sends every part of a builder message, with Bcc only in the envelope", async () => {
  const { built, transport } = await setUp();
  const { messageId } = await built({
    from: { email: "a@here.example", name: 'Anné, "A"' },
    to: ["x@there.example", '"Yo, Y" <y@there.example>'],
    cc: { email: "c@there.example", name: "C" },
    bcc: ["b@there.example", "x@there.example"],
    replyTo: "Support <s@here.example>",
    subject: "Grüße 日本",
    text: "hällo\nworld",
    html: '<p>hällo <img src="cid:logo"></p>',
    headers: {
      "x-campaign-ID": "7",
      "list-unsubscribe": "<https://x.example/u>, <mailto:u@x.example>",
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      "X-Note": "grün",
    },
    attachments: [
      { content: "aGVsbG8=", filename: "grüße.txt", type: "text/plain", disposition: "attachment" },
      {
        content: { base64: Buffer.from([0, 1, 255]).toString("base64") },
        filename: "logo.png",
        type: "image/png",
        disposition: "inline",
        contentId: "logo",
      },
    ],
  });
  const [mail] = transport.sent;
  assert.deepEqual(
    [mail!.from, mail!.to],
    ["a@here.example", ["x@there.example", "y@there.example", "c@there.example", "b@there.example"]],
  );
  assert.doesNotMatch(mail!.raw, /b@there\.example|^bcc/im);
  assert.doesNotMatch(mail!.raw, /(?<!\r)\n|[^ -~\r\n]/);
  assert.match(
    mail!.raw,
    /^x-campaign-ID: 7\r\nList-Unsubscribe: <https:\/\/x\.example\/u>, <mailto:u@x\.example>\r\n/,
  );
  const parsed = await PostalMime.parse(Buffer.from(mail!.raw, "latin1"));
  assert.deepEqual(parsed.from, { name: 'Anné, "A"', address: "a@here.example" });
  assert.deepEqual(parsed.to, [
    { name: "", address: "x@there.example" },
    { name: "Yo, Y", address: "y@there.example" },
  ]);
  assert.deepEqual(
    [parsed.cc, parsed.replyTo],
    [[{ name: "C", address: "c@there.example" }], [{ name: "Support", address: "s@here.example" }]],
  );
  assert.deepEqual(
    [parsed.subject, parsed.messageId, parsed.text?.trim(), parsed.date],
    ["Grüße 日本", messageId, "hällo\nworld", "2026-01-05T07:08:09.000Z"],
  );
  assert.match(parsed.html!, /hällo/);
  assert.deepEqual(
    parsed.attachments.map((one) => [
      one.filename,
      one.mimeType,
      one.disposition,
      one.contentId,
      Buffer.from(one.content as ArrayBuffer).toString("hex"),
    ]),
    [
      ["logo.png", "image/png", "inline", "<logo>", "0001ff"],
      ["grüße.txt", "text/plain", "attachment", undefined, Buffer.from("hello").toString("hex")],
    ],
  );
  assert.equal(parsed.headers.find(({ key }) => key === "x-note")!.value, "=?UTF-8?Q?gr=C3=BCn?=");
  assert.deepEqual(
    mail!.parts!.attachments.map(({ filename }) => filename),
    ["grüße.txt", "logo.png"],
  );
});

test("accepts a message with only text, only html, or only an attachment", async () => {
  const { built } = await setUp();
  await built({ text: "x" });
  await built({ text: undefined, html: "<p>" });
  await built({ text: undefined, attachments: [{ content: "", filename: "empty", type: "text/plain" }] });
  await assert.rejects(built({ text: undefined }), refused("'text' is required", "E_FIELD_MISSING"));
});

const attachment = { content: "aGk=", filename: "a.txt", type: "text/plain", disposition: "attachment" };

for (const [mail, message, code] of [
  [{ from: undefined }, "'from' is required", "E_FIELD_MISSING"],
  [{ subject: undefined }, "'subject' is required", "E_FIELD_MISSING"],
  [{ from: "nobody" }, "'from' is not an email address: \"nobody\"", "E_VALIDATION_ERROR"],
  [{ from: { email: "An <a@here.example>" } }, /^'from\.email' is not an email address/, "E_VALIDATION_ERROR"],
  [{ from: { name: "An" } }, "'from.email' is required", "E_FIELD_MISSING"],
  [{ from: 7 }, /^'from' must be an address/, "E_VALIDATION_ERROR"],
  [{ to: ["x@there.example", "bad@"] }, "'to[1]' is not an email address: \"bad@\"", "E_VALIDATION_ERROR"],
  [{ to: "x@there.example, y@there.example" }, /^'to' is not an email address/, "E_VALIDATION_ERROR"],
  [{ to: "x@there.example\r\nBcc: y@there.example" }, /^'to' is not an email address/, "E_VALIDATION_ERROR"],
  [
    { to: { email: "x@there.example", name: "X\r\nBcc: y@there.example" } },
    "'to' has control characters in its name",
    "E_VALIDATION_ERROR",
  ],
  [
    { subject: "x\r\nBcc: y@there.example" },
    "'subject' must not contain line breaks or other control characters",
    "E_VALIDATION_ERROR",
  ],
  [{ subject: "x".repeat(999) }, "'subject' is longer than 998 characters", "E_VALIDATION_ERROR"],
  [{ subject: 7 }, "'subject' must be a string", "E_VALIDATION_ERROR"],
  [{ text: { path: "/etc/passwd" } }, "'text' must be a string", "E_VALIDATION_ERROR"],
  [{ html: { href: "http://127.0.0.1/" } }, "'html' must be a string", "E_VALIDATION_ERROR"],
  [{ replyTo: "x" }, "'replyTo' is not an email address: \"x\"", "E_VALIDATION_ERROR"],
  [
    { to: Array.from({ length: 51 }, (_, i) => `x${i}@there.example`) },
    "51 recipients in to, cc and bcc together, maximum is 50",
    "E_TOO_MANY_RECIPIENTS",
  ],
  [{ attachments: {} }, "'attachments' must be an array", "E_VALIDATION_ERROR"],
  [
    { attachments: [{ ...attachment, content: "not base64!" }] },
    /^'attachments\[0\]\.content' is not base64/,
    "E_VALIDATION_ERROR",
  ],
  [{ attachments: [{ ...attachment, content: "aGk" + "=".repeat(5) }] }, /is not base64/, "E_VALIDATION_ERROR"],
  [{ attachments: [{ ...attachment, content: undefined }] }, "'attachments[0].content' is required", "E_FIELD_MISSING"],
  [
    { attachments: [{ ...attachment, content: { path: "/etc/passwd" } }] },
    /^'attachments\[0\]\.content' must be base64 text/,
    "E_VALIDATION_ERROR",
  ],
  [{ attachments: [{ ...attachment, filename: "" }] }, "'attachments[0].filename' is required", "E_FIELD_MISSING"],
  [
    { attachments: [{ ...attachment, filename: "a\r\nb" }] },
    /^'attachments\[0\]\.filename' must be a string/,
    "E_VALIDATION_ERROR",
  ],
  [
    { attachments: [{ ...attachment, type: "text" }] },
    "'attachments[0].type' is not a MIME type: \"text\"",
    "E_VALIDATION_ERROR",
  ],
  [
    { attachments: [{ ...attachment, disposition: "both" }] },
    "'attachments[0].disposition' must be 'attachment' or 'inline'",
    "E_VALIDATION_ERROR",
  ],
  [
    { attachments: [{ ...attachment, disposition: "inline" }] },
    "'attachments[0].contentId' is required",
    "E_FIELD_MISSING",
  ],
  [
    { attachments: [{ ...attachment, contentId: "a b" }] },
    /^'attachments\[0\]\.contentId' must be a word/,
    "E_VALIDATION_ERROR",
  ],
  [
    { headers: { "X-A": "1\r\nBcc: y@there.example" } },
    "Header 'X-A' must not contain control characters.",
    "E_HEADER_VALUE_INVALID",
  ],
] as [MailBuilderFields, string | RegExp, string][]) {
  test(`rejects a builder message: ${JSON.stringify(mail).slice(0, 70)}`, async () => {
    const { built, transport } = await setUp();
    await assert.rejects(built(mail), refused(message, code));
    assert.equal(transport.sent.length, 0);
  });
}

test("allows fifty recipients, and counts duplicates once", async () => {
  const { built, transport } = await setUp();
  await built({ to: Array.from({ length: 50 }, (_, i) => `x${i}@there.example`), cc: "X0@there.example" });
  assert.equal(transport.sent[0]!.to.length, 50);
});

test("allows 5 MiB, 25 MiB if all recipients are verified addresses, or the configured limits", async () => {
  const { built, raw } = await setUp({
    isVerified: (address) => address === "v@there.example",
    limits: { messageBytes: 20_000, verifiedMessageBytes: 50_000 },
  });
  const large = { text: "x".repeat(30_000) };
  await built({ ...large, to: "v@there.example" });
  await raw(RAW + large.text, undefined, "v@there.example");
  const tooLarge = refused(
    "Email message size is bigger than the production size limit of 0.02MiB.",
    "E_CONTENT_TOO_LARGE",
  );
  await assert.rejects(built(large), tooLarge);
  await assert.rejects(built({ ...large, to: "v@there.example", bcc: "x@there.example" }), tooLarge);
  await assert.rejects(raw(RAW + large.text), tooLarge);
  // 18,000 bytes fit, but their base64 encoding does not.
  await assert.rejects(
    built({ attachments: [{ ...attachment, content: { base64: Buffer.alloc(18_000).toString("base64") } }] }),
    tooLarge,
  );
});

test("a recipient rejected by the transport is a failed delivery", async () => {
  const { built, raw, trace } = await setUp({
    answer: (rcpt) => ({ rcpt, ok: false, temporary: false, reply: { code: 550, enhanced: "5.1.1", text: "nobody" } }),
  });
  await assert.rejects(
    built(),
    refused("could not send email to x@there.example: 550 5.1.1 nobody", "E_DELIVERY_FAILED"),
  );
  await assert.rejects(raw(RAW), { code: "E_DELIVERY_FAILED" });
  assert.equal(trace.events.length, 0);
});
