import assert from "node:assert/strict";
import { test } from "node:test";
import { checksOf } from "./checks.ts";
import { explainAuthentication } from "./explain.ts";

const WORDS = { spf: null, dkim: null, dmarc: null, arc: null, ip: "192.0.2.7" };
const explain = (details: unknown) =>
  explainAuthentication({ ...WORDS, checks: checksOf(details)! }).map(({ explanation }) => explanation);

test("explains results that passed", () => {
  assert.deepEqual(
    explain({
      spf: { result: "pass", domain: "there.example", identity: "mailfrom" },
      dkim: [{ result: "pass", domain: "there.example", selector: "s1" }],
      dmarc: { result: "pass", from: "there.example", policy: "reject", aligned: { dkim: "there.example" } },
      arc: { result: "pass", instance: 1, sealer: "lists.example" },
    }),
    [
      "there.example allows 192.0.2.7 to send its mail.",
      "The DKIM signature of there.example (selector s1) is valid: the message has not been changed since it was signed.",
      "The author domain there.example is authenticated by DKIM.",
      "The ARC chain is valid; lists.example sealed it last.",
    ],
  );
});

test("explains results that failed, with the reason", () => {
  assert.deepEqual(
    explain({
      spf: { result: "permerror", domain: "there.example", identity: "helo", why: "two records." },
      dkim: [{ result: "fail", domain: "there.example", why: "body hash did not verify" }, { result: "none" }],
      dmarc: { result: "fail", from: "there.example", policy: "quarantine", aligned: {} },
      arc: { result: "none", instance: 0 },
    }),
    [
      "The SPF record of there.example is invalid: two records.",
      "The DKIM signature of there.example does not match the message: body hash did not verify.",
      "The message has no DKIM signature.",
      "Neither SPF nor DKIM authenticates the author domain there.example, which requests the policy quarantine.",
      "The message has no ARC set: no forwarder has sealed it.",
    ],
  );
});

test("explains entries that have only the results", () => {
  assert.deepEqual(
    explainAuthentication({ ...WORDS, spf: "softfail", dmarc: "none" }).map(({ method, explanation }) => [
      method,
      explanation,
    ]),
    [
      ["spf", "the sender's domain states that 192.0.2.7 is probably not allowed to send its mail."],
      ["dmarc", "the author's domain has no DMARC record."],
    ],
  );
});

test("keeps a limited number of results, with truncated text", () => {
  const checks = checksOf({
    dkim: Array.from({ length: 50 }, () => ({ result: "fail", domain: "d".repeat(1000), why: "\u001b[31m" })),
    spf: "not a result",
  })!;
  assert.equal(checks.length, 5);
  assert.ok(checks.every(({ domain, why }) => domain!.length === 200 && why === " [31m"));
  assert.equal(checksOf(undefined), undefined);
});
