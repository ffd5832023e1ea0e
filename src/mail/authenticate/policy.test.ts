import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuthenticationPolicy, decide, DEFAULT_AUTHENTICATION_POLICY } from "./policy.ts";
import type { Results } from "./verdict.ts";

const base: Results = {
  spf: { result: "pass", domain: "b.example", identity: "mailfrom" },
  dkim: [],
  dmarc: { result: "fail", from: "a.example", policy: "reject", aligned: {} },
  arc: { result: "none", instance: 0 },
} as unknown as Results;

const decided = (changes: Partial<Results>, policy: Partial<AuthenticationPolicy> = {}) => {
  const decision = decide(
    { ...base, authors: "one", ip: "192.0.2.1", ...changes },
    { ...DEFAULT_AUTHENTICATION_POLICY, ...policy },
  );
  return decision.kind === "refuse" ? decision.error.entry.smtp : decision.kind;
};

const sealed = (said: object | undefined, more: object = {}) => ({
  arc: {
    result: "pass",
    instance: 1,
    sealer: "list.example",
    ...(said && { said }),
    ...more,
  } as unknown as Results["arc"],
});
const trusting = { trustedSealers: ["list.example"] };

test("a trusted ARC seal overrides a DMARC fail only if the sealer reports dmarc=pass (RFC 8617 7.2.1)", () => {
  assert.equal(decided(sealed({ dmarc: "pass" }), trusting), "accept");
  for (const dmarc of ["fail", "none", "temperror", undefined])
    assert.equal(decided(sealed({ dmarc }), trusting), 550, String(dmarc));
  assert.equal(decided(sealed(undefined), trusting), 550);
});

test("ignores an ARC seal that fails or comes from an untrusted sealer", () => {
  assert.equal(decided(sealed({ dmarc: "pass" })), 550);
  assert.equal(decided(sealed({ dmarc: "pass" }, { sealer: "evil.example" }), trusting), 550);
  assert.equal(decided(sealed({ dmarc: "pass" }, { result: "fail" }), trusting), 550);
});

test("a permanent rejection takes precedence over a temporary one from any check", () => {
  const unknownDmarc = { dmarc: { result: "temperror", from: "a.example" } as unknown as Results["dmarc"] };
  assert.equal(decided(unknownDmarc), 451);
  // In the order of the checks, the temporary result comes first.
  const spfFail = { spf: { result: "fail", domain: "b.example", identity: "mailfrom" } as Results["spf"] };
  assert.equal(
    decided(
      { ...unknownDmarc, ...spfFail, dkim: [{ result: "pass", domain: "c.example" }] as unknown as Results["dkim"] },
      { spfFail: "reject" },
    ),
    550,
  );
});

test("defers a DMARC fail if the lookup of a potentially aligned DKIM key or SPF record fails (RFC 9989 5.3)", () => {
  const dkim = [{ result: "temperror", domain: "a.example" }] as unknown as Results["dkim"];
  assert.equal(decided({ dkim }), 451);
  assert.equal(decided({ dkim }, { temporary: "accept" }), 550);
});
