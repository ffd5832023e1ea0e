import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { tlsJson } from "./report-file.testing.ts";
import { readTlsReport } from "./tls-report.ts";

test("reads policies, sessions and failures of a TLS report", () => {
  const reading = readTlsReport(
    tlsJson({ domain: "Example.com.", failures: { "certificate-expired": 3, "STARTTLS-not-supported": 1 } }),
  );
  const failure = { receivingMx: "mx1.mail.example.com", sendingIp: "2001:db8:abcd:0012::1" };
  assert.deepEqual(reading, {
    ok: true,
    report: {
      orgName: "Big Mail",
      reportId: "t1",
      begin: Date.UTC(2026, 0, 1),
      end: Date.UTC(2026, 0, 1) + 86_399_000,
      policies: [
        {
          type: "sts",
          domain: "example.com",
          successful: 100,
          failed: 4,
          failures: [
            { ...failure, resultType: "certificate-expired", sessions: 3 },
            { ...failure, resultType: "starttls-not-supported", sessions: 1 },
          ],
        },
      ],
    },
  });
});

test("rejects content that is not a TLS report", () => {
  const why = (content: string) => {
    const reading = readTlsReport(Buffer.from(content));
    return reading.ok ? "" : reading.why;
  };
  const text = tlsJson({ failures: { "certificate-expired": 1 } }).toString();
  assert.match(why("{"), /^the report is not valid JSON: /);
  assert.match(why("[".repeat(1_000_000)), /^the report is not valid JSON: /);
  assert.match(why("{}"), /organization-name is missing or not valid$/);
  assert.match(why(text.replace('"sts"', '"other"')), /policies\.0\.policy\.policy-type is missing or not valid$/);
  assert.match(why(text.replace(":100", ":-1")), /total-successful-session-count is missing or not valid$/);
  assert.match(why(text.replace("2026-01-01T00:00:00.000Z", "yesterday")), /start-datetime is missing or not valid$/);
  assert.equal(
    why(text.replace("2026-01-01T23:59:59.000Z", "2025-01-01T00:00:00Z")),
    "the report ends before it begins",
  );
  assert.match(
    why(tlsJson({ failures: Object.fromEntries(Array.from({ length: 5001 }, (_, i) => [`x${i}`, 1])) }).toString()),
    /failure-details is missing or not valid$/,
  );
});

test("parses arbitrary bytes and arbitrary JSON without throwing", () => {
  const whole = JSON.parse(tlsJson({ failures: { "certificate-expired": 1 } }).toString()) as Record<string, unknown>;
  const changed = fc
    .tuple(fc.constantFrom(...Object.keys(whole)), fc.jsonValue())
    .map(([key, value]) => Buffer.from(JSON.stringify({ ...whole, [key]: value })));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.json().map((text) => Buffer.from(text)),
        changed,
      ),
      (bytes) => {
        const reading = readTlsReport(bytes);
        assert.ok(reading.ok ? reading.report.policies.length > 0 : reading.why !== "");
      },
    ),
    { numRuns: 300 },
  );
});
