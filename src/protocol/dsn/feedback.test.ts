import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readFeedback } from "./feedback.ts";

const report = ({
  fields = ["Feedback-Type: abuse", "User-Agent: Gen/1.0", "Version: 1"],
  type = "multipart/report; report-type=feedback-report",
  returned = "message/rfc822",
} = {}) =>
  Buffer.from(
    [
      "From: <abuse@provider.example>",
      "Subject: FW: x",
      "MIME-Version: 1.0",
      `Content-Type: ${type}; boundary="b"`,
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "A complaint.",
      "",
      "--b",
      "Content-Type: message/feedback-report",
      "",
      ...fields,
      "",
      "--b",
      `Content-Type: ${returned}`,
      "",
      "Return-Path: <path@here.example>",
      "From: <news@here.example>",
      "To: Bob <bob@example.net>,",
      " carol@example.net",
      "Message-ID: <sent@here.example>",
      "",
      "Spam",
      "",
      "--b--",
      "",
    ].join("\r\n"),
  );

test("RFC 5965: a report is read with its envelope and the original message", () => {
  const fields = [
    "Feedback-Type: Abuse",
    "User-Agent: Gen/1.0",
    "Version: 1",
    "Original-Mail-From: <path@here.example>",
    "Original-Rcpt-To: <bob@example.net>",
    "Original-Rcpt-To: carol@example.net",
    "Arrival-Date: Thu, 8 Mar 2005 14:00:00 EDT",
  ];
  for (const returned of ["message/rfc822", "text/rfc822-headers"]) {
    assert.deepEqual(readFeedback(report({ fields, returned })), {
      type: "abuse",
      userAgent: "Gen/1.0",
      mailFrom: "path@here.example",
      recipients: ["bob@example.net", "carol@example.net"],
      messageId: "<sent@here.example>",
      returnPath: "path@here.example",
      to: ["bob@example.net", "carol@example.net"],
    });
  }
  assert.deepEqual(readFeedback(report()), {
    type: "abuse",
    userAgent: "Gen/1.0",
    recipients: [],
    messageId: "<sent@here.example>",
    returnPath: "path@here.example",
    to: ["bob@example.net", "carol@example.net"],
  });
});

test("messages that are not feedback reports are ignored", () => {
  assert.equal(readFeedback(report({ type: "multipart/mixed" })), undefined);
  assert.equal(readFeedback(report({ fields: ["User-Agent: x", "Version: 1"] })), undefined);
  assert.equal(readFeedback(Buffer.from("Subject: hello\r\n\r\nFeedback-Type: abuse\r\n")), undefined);
  assert.equal(readFeedback(Buffer.alloc(0)), undefined);
});

test("truncated or modified reports are read without throwing, and yield a bounded number of addresses", () => {
  const whole = report({
    fields: ["Feedback-Type: abuse", ...Array.from({ length: 500 }, (_, n) => `Original-Rcpt-To: <b${n}@example.net>`)],
  });
  assert.equal(readFeedback(whole)!.recipients.length, 50);
  fc.assert(
    fc.property(
      fc.nat(whole.length),
      fc.uint8Array({ maxLength: 40 }),
      (at, noise) =>
        void readFeedback(Buffer.concat([whole.subarray(0, at), noise, whole.subarray(at + noise.length)])),
    ),
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => void readFeedback(bytes)));
});
