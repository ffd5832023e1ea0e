import assert from "node:assert/strict";
import { test } from "node:test";
import { isDmarc, policyOf, ruaOf, withoutRua, withRua } from "./index.ts";

test("recognizes a record by its version tag", () => {
  assert.deepEqual(["v=DMARC1", "v=dmarc1; p=none", "v=DMARC10; p=none", "p=none; v=DMARC1"].map(isDmarc), [
    true,
    true,
    false,
    false,
  ]);
});

test("reads the policy of the domain, not that of its subdomains", () => {
  assert.deepEqual(
    [
      "v=DMARC1; p=reject; sp=none",
      "v=DMARC1; P = Quarantine;",
      "v=DMARC1; p=none",
      "v=DMARC1; sp=none",
      "v=DMARC1; p=x",
    ].map(policyOf),
    ["reject", "quarantine", "none", undefined, undefined],
  );
});

test("adds and removes a report URI", () => {
  const uri = "mailto:x@r.example";
  assert.equal(withRua("v=DMARC1; p=reject", uri), "v=DMARC1; p=reject; rua=mailto:x@r.example;");
  assert.equal(
    withRua("v=DMARC1;p=none; RUA = mailto:me@a.example!10m ;adkim=s", uri),
    "v=DMARC1; p=none; RUA = mailto:me@a.example!10m,mailto:x@r.example; adkim=s;",
  );
  assert.equal(
    withRua(`v=DMARC1; p=none; rua=${uri.toUpperCase()}!5m`, uri),
    `v=DMARC1; p=none; rua=${uri.toUpperCase()}!5m`,
  );
  assert.deepEqual(ruaOf("v=DMARC1; p=none; rua=mailto:A@a.example!10m, mailto:b@b.example"), [
    "mailto:a@a.example",
    "mailto:b@b.example",
  ]);
  for (const text of ["v=DMARC1; p=reject;", "v=DMARC1; p=none; rua=mailto:me@a.example; adkim=s;"])
    assert.equal(withoutRua(withRua(text, uri), uri), text);
});
