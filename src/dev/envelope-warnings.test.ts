import assert from "node:assert/strict";
import { it } from "node:test";
import { envelopeWarnings } from "./envelope-warnings.ts";

const headers: [string, string][] = [
  ["From", '"Ada" <Ada@Example.com>'],
  ["To", "one@example.org, Two <two@example.org>"],
  ["Cc", "three@example.org"],
];

it("prints nothing if the envelope matches the headers in any address form", () => {
  for (const to of ["one@example.org", "TWO@example.org", "three@EXAMPLE.org"])
    assert.deepEqual(envelopeWarnings({ from: "ada@example.com", to, headers }), []);
});

it("shows both values of a mismatch", () => {
  assert.deepEqual(envelopeWarnings({ from: "eve@example.com", to: "four@example.org", headers }), [
    "MAIL FROM <eve@example.com> is not the address in the From header: Ada@example.com",
    "RCPT TO <four@example.org> is not in the To or Cc header: one@example.org, two@example.org, three@example.org",
  ]);
  assert.match(
    envelopeWarnings({ from: "a@example.com", to: "b@example.org", headers: [] }).join(),
    /\(none\).*\(none\)/,
  );
});

it("accepts a null sender, as used in delivery reports", () => {
  assert.deepEqual(envelopeWarnings({ from: "", to: "one@example.org", headers }), []);
});
