import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { headerValue, readHeader } from "../rfc5322/index.ts";
import { isNotified, returnedPart } from "./notify.ts";
import { MAX_BOUNCE_BYTES, readBounce } from "./bounce.ts";
import {
  formatMailRequest,
  formatRecipientRequest,
  readMailRequest,
  readRecipientRequest,
  type DsnEvent,
  type RecipientRequest,
} from "./params.ts";
import { buildReport, type DsnAction, type DeliveryReport } from "./report.ts";
import { decodeUtf8Address, decodeXtext, encodeUtf8Address, encodeXtext } from "./xtext.ts";

const AT = new Date(Date.UTC(2026, 0, 5, 7, 8, 9));
const ORIGINAL = "From: alice@example.org\r\nMessage-ID: <first@example.org>\r\nSubject: hello\r\n";

const report = (changes: Partial<DeliveryReport> = {}): DeliveryReport => ({
  reportingMta: "mx.fwd.example",
  from: "MAILER-DAEMON@fwd.example",
  to: "alice@example.org",
  messageId: "<report@fwd.example>",
  date: AT,
  boundary: "b0undary",
  recipients: [
    {
      address: "bob@example.net",
      action: "failed",
      status: "5.1.1",
      diagnostic: "550 5.1.1 No such user",
      remoteMta: "mx.example.net",
    },
  ],
  returned: "headers",
  ...changes,
});

const whole = (of: DeliveryReport, original: string | Uint8Array = ORIGINAL) => {
  const { before, after } = buildReport(of);
  return Buffer.concat([before, Buffer.from(original as string), after]);
};

test("a report is read back with all its fields", () => {
  const built = whole(
    report({
      envelopeId: "QQ+314 159",
      arrived: AT,
      inReplyTo: "<first@example.org>",
      recipients: [
        {
          address: "bob@example.net",
          original: { type: "rfc822", address: "info@fwd.example" },
          action: "failed",
          status: "5.1.1",
          diagnostic: "550 5.1.1 No such user",
          remoteMta: "mx.example.net",
          lastAttempt: AT,
        },
        { address: "käthe@example.net", action: "delayed", status: "4.4.1", retryUntil: AT },
      ],
    }),
  );
  assert.deepEqual(readBounce(built), {
    kind: "report",
    reportingMta: "mx.fwd.example",
    envelopeId: "QQ+314 159",
    messageId: "<first@example.org>",
    recipients: [
      {
        address: "bob@example.net",
        original: "info@fwd.example",
        action: "failed",
        status: "5.1.1",
        diagnostic: "550 5.1.1 No such user",
        remoteMta: "mx.example.net",
      },
      { address: "käthe@example.net", action: "delayed", status: "4.4.1" },
    ],
  });
  assert.match(built.toString(), /\r\nWill-Retry-Until: Mon, 05 Jan 2026|\r\nWill-Retry-Until: Mon, 5 Jan 2026/);
  assert.doesNotMatch(built.toString("latin1"), /(?<!\r)\n|\r(?!\n)/);
});

test("RFC 3464 2, RFC 3834 5: a report has the required header", () => {
  const reading = readHeader(buildReport(report()).before);
  assert.ok(reading.ok);
  const value = (name: string) => headerValue(reading.fields, name);
  assert.equal(value("auto-submitted"), "auto-replied");
  assert.equal(value("to"), "<alice@example.org>");
  assert.match(value("content-type")!, /^multipart\/report; report-type=delivery-status;\s+boundary="b0undary"$/);
  assert.throws(() => buildReport(report({ to: "" })), /null sender/);
  assert.throws(() => buildReport(report({ recipients: [] })), /recipient/);
});

test("the returned part contains only headers or the whole message, with a content type that matches its octets (RFC 6533)", () => {
  const typeOf = (changes: Partial<DeliveryReport>) =>
    /boundary|Content-Type: ((?:message|text)\/(?:rfc822|global)[a-z0-9-]*)/.exec(
      buildReport(report(changes)).before.toString().split("--b0undary").at(-1)!,
    )?.[1];
  assert.equal(typeOf({}), "text/rfc822-headers");
  assert.equal(typeOf({ returned: "full" }), "message/rfc822");
  assert.equal(typeOf({ returnedUtf8: true }), "message/global-headers");
  assert.equal(typeOf({ returned: "full", returnedUtf8: true }), "message/global");
});

test("text from remote servers cannot end a line or start a part", () => {
  const words = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.constant("550 no\r\n\r\n--b0undary--\r\nX: y"),
    fc.constant("x".repeat(5000)),
  );
  fc.assert(
    fc.property(words, words, words, (diagnostic, remoteMta, envelopeId) => {
      const built = whole(
        report({
          envelopeId,
          recipients: [{ address: "bob@example.net", action: "failed", status: "5.1.1", diagnostic, remoteMta }],
        }),
      );
      const bounce = readBounce(built)!;
      assert.equal(bounce.recipients.length, 1);
      assert.equal(bounce.messageId, "<first@example.org>");
      for (const line of built.toString("latin1").split("\r\n")) assert.ok(line.length <= 998 && !/[\r\n]/.test(line));
    }),
    { numRuns: 50 },
  );
});

test("RFC 3461 5.2, RFC 5321 4.5.5: decides whether the sender is notified", () => {
  const requested = (notify: RecipientRequest["notify"], action: DsnAction, delays?: boolean) =>
    isNotified("a@b.example", action, notify === undefined ? {} : { notify }, delays === undefined ? {} : { delays });
  assert.equal(requested(undefined, "failed"), true);
  assert.equal(requested(undefined, "delayed"), true);
  assert.equal(requested(undefined, "delayed", false), false);
  assert.equal(requested(undefined, "delivered"), false);
  assert.equal(requested(["NEVER"], "failed"), false);
  assert.equal(requested(["SUCCESS"], "failed"), false);
  assert.equal(requested(["SUCCESS"], "relayed"), true);
  assert.equal(requested(["DELAY"], "delayed", false), true);
  for (const action of ["failed", "delayed", "delivered"] as const)
    assert.equal(isNotified("", action, { notify: ["FAILURE", "DELAY", "SUCCESS"] }), false);
});

test("RFC 3461 4.3: the whole message is returned only if requested and delivery failed", () => {
  assert.equal(returnedPart("failed", { ret: "FULL" }, 10, 10), "full");
  assert.equal(returnedPart("failed", { ret: "FULL" }, 11, 10), "headers");
  assert.equal(returnedPart("delayed", { ret: "FULL" }, 1, 10), "headers");
  assert.equal(returnedPart("failed", {}, 1, 10), "headers");
});

test("the client's parameters reach the next hop unchanged", () => {
  const address = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
    .filter((text) => !/\p{Cc}|[\s\ud800-\udfff\\]/u.test(text));
  const notify = fc.oneof(
    fc.constant<DsnEvent[]>(["NEVER"]),
    fc.subarray<DsnEvent>(["SUCCESS", "FAILURE", "DELAY"], { minLength: 1 }),
  );
  fc.assert(
    fc.property(
      notify,
      address,
      fc.constantFrom("rfc822", "utf-8"),
      fc.constantFrom("FULL", "HDRS"),
      fc.stringMatching(/^[\x20-\x7e]{1,30}$/),
      (wanted, text, type, ret, envid) => {
        const recipient = { notify: wanted, orcpt: `${type};${text}` };
        assert.deepEqual(readRecipientRequest(formatRecipientRequest(recipient)), { ok: true, value: recipient });
        const mail = { ret, envid } as const;
        assert.deepEqual(readMailRequest([...formatMailRequest(mail), "SIZE=5", "SMTPUTF8"]), {
          ok: true,
          value: mail,
        });
      },
    ),
  );
});

test("invalid parameters are rejected with the reason", () => {
  for (const params of [
    ["RET=ALL"],
    ["RET"],
    ["ENVID="],
    ["ENVID=a+b"],
    ["ENVID=a=b"],
    [`ENVID=${"x".repeat(101)}`],
    ["RET=FULL", "ret=hdrs"],
  ]) {
    assert.equal(readMailRequest(params).ok, false, params.join());
  }
  for (const params of [
    ["NOTIFY=NEVER,SUCCESS"],
    ["NOTIFY="],
    ["NOTIFY=SOMETIMES"],
    ["ORCPT=a@b"],
    ["ORCPT=rfc822;"],
    ["ORCPT=rfc822;a+0Ab"],
    [`ORCPT=rfc822;${"x".repeat(500)}`],
  ]) {
    assert.equal(readRecipientRequest(params).ok, false, params.join());
  }
  assert.deepEqual(readRecipientRequest(["notify=delay,Failure,delay", "ORCPT=RFC822;bob+2Btag@example.net"]), {
    ok: true,
    value: { notify: ["DELAY", "FAILURE"], orcpt: "rfc822;bob+tag@example.net" },
  });
});

test("xtext encodes any text", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed()),
      (text) => {
        assert.equal(decodeXtext(encodeXtext(text)), text);
        assert.equal(decodeUtf8Address(encodeUtf8Address(text)), text);
      },
    ),
  );
});

test("reports from other servers are read", () => {
  const exchange = [
    "From: postmaster@corp.example",
    "Subject: Undeliverable: hi",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="out er"',
    "",
    "--out er",
    "Content-Type: multipart/report; report-type=delivery-status;",
    "\tboundary=in_ner",
    "",
    "--in_ner",
    "Content-Type: text/html",
    "",
    "<p>no</p>",
    "--in_ner",
    "Content-Type: message/delivery-status",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "Reporting-MTA: dns;ex.corp.example",
    "",
    "",
    "Original-Recipient: rfc822;<b=",
    "ob@corp.example>",
    "Final-Recipient: RFC822; bob@corp.example",
    "Action: failed (bad)",
    "Status: 5.=",
    "1.10 (x)",
    "Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound",
    "--in_ner",
    "Content-Type: message/rfc822",
    "",
    "Message-ID: <m1@x.example>",
    "",
    "body",
    "--in_ner--",
    "--out er--",
    "",
  ].join("\r\n");
  assert.deepEqual(readBounce(Buffer.from(exchange)), {
    kind: "report",
    reportingMta: "ex.corp.example",
    messageId: "<m1@x.example>",
    recipients: [
      {
        address: "bob@corp.example",
        action: "failed",
        status: "5.1.10",
        diagnostic: "550 5.1.10 RESOLVER.ADR.RecipientNotFound",
      },
    ],
  });
  const base64 = Buffer.from(
    "Reporting-MTA: dns; a.example\n\nFinal-Recipient: rfc822; bob@a.example\nStatus: 4.2.2\n",
  ).toString("base64");
  const coded = `Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\nContent-Type: message/delivery-status\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64}\r\n--x--\r\n`;
  assert.deepEqual(readBounce(Buffer.from(coded))?.recipients, [
    { address: "bob@a.example", action: "delayed", status: "4.2.2" },
  ]);
});

test("human-readable bounces are parsed heuristically", () => {
  const qmail =
    "From: MAILER-DAEMON@q.example\r\nSubject: failure notice\r\n\r\nHi. This is the qmail-send program at q.example.\r\n\r\n<bob@q.example>:\r\nSorry, no mailbox here by that name. (#5.1.1)\r\n\r\n--- Below this line is a copy of the message.\r\n\r\nMessage-ID: <m2@x.example>\r\nTo: <carol@q.example>\r\n550\r\n";
  assert.deepEqual(readBounce(Buffer.from(qmail)), {
    kind: "guess",
    messageId: "<m2@x.example>",
    recipients: [
      {
        address: "bob@q.example",
        action: "failed",
        status: "5.1.1",
        diagnostic: "Sorry, no mailbox here by that name. (#5.1.1)",
      },
    ],
  });
  const exim =
    "X-Failed-Recipients: bob@e.example,\r\n carol@e.example\r\nFrom: Mail Delivery System <Mailer-Daemon@e.example>\r\n\r\n  bob@e.example\r\n    SMTP error from remote mail server: 552 mailbox full\r\n\r\nask postmaster@e.example\r\n";
  assert.deepEqual(readBounce(Buffer.from(exim))?.recipients, [
    {
      address: "bob@e.example",
      action: "failed",
      status: "5.2.2",
      diagnostic: "SMTP error from remote mail server: 552 mailbox full",
    },
    { address: "carol@e.example", action: "failed", status: "5.0.0" },
  ]);
});

test("messages that are not bounces are ignored", () => {
  for (const text of [
    "",
    "\r\n",
    "Subject: hello\r\n\r\n<bob@example.net>:\r\n550 5.1.1 no such user\r\n",
    "From: postmaster@a.example\r\nSubject: hello\r\n\r\nPlease write to bob@example.net about room 550 today.\r\n",
    "From: bob@example.net\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.\r\n",
    "Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; a\r\n\r\n--x--",
  ])
    assert.equal(readBounce(Buffer.from(text)), undefined, text);
});

test("hostile input is cheap to process and has no effect", () => {
  const heavy = [
    `Content-Type: multipart/report; boundary=x\r\n\r\n${"--x\r\n\r\n".repeat(40_000)}`,
    `Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\nContent-Type: message/delivery-status\r\n\r\n${"Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n".repeat(5000)}`,
    `From: mailer-daemon@x\r\n\r\n${"<a@b.example>: 5".repeat(20_000)}`,
    `From: mailer-daemon@x\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${" ".repeat(300_000)}`,
    `From: mailer-daemon@x\r\n\r\n${"a@".repeat(150_000)}`,
    `Content-Type: multipart/mixed;${" ".repeat(100_000)}boundary=x\r\n\r\n`,
    "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n".repeat(5000),
    `Subject: ${"undelivered ".repeat(10_000)}\r\n\r\n${"\r\n".repeat(200_000)}`,
  ];
  for (const text of heavy) {
    let bounce: ReturnType<typeof readBounce>;
    const ms = cpuMs(() => void (bounce = readBounce(Buffer.from(text))));
    assert.ok(ms < 2000, `${text.slice(0, 60)}: ${ms} ms`);
    assert.ok((bounce?.recipients.length ?? 0) <= 100);
  }
  const part = fc.constantFrom(
    "--x\r\n",
    "--x--\r\n",
    "Content-Type: message/delivery-status\r\n",
    "\r\n",
    "Final-Recipient: rfc822; a@b.example\r\n",
    "Status: 5.0.0\r\n",
    "From: mailer-daemon@x.example\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "<a@b.example>: 550 no\r\n",
    "Content-Type: multipart/report; boundary=x\r\n",
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(part, fc.string({ unit: "binary", maxLength: 20 })), { maxLength: 30 }),
      (pieces) => void readBounce(Buffer.from(pieces.join(""))),
    ),
  );
  assert.ok(MAX_BOUNCE_BYTES > 0);
});
