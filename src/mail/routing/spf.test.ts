import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { includes, isSpf, textOf, withInclude, withoutInclude } from "./spf.ts";

const HOST = "_spf.mx.example";

test("an include is put in and taken out again, whatever else the record says", () => {
  const term = fc.constantFrom(
    "ip4:192.0.2.0/24",
    "a",
    "mx",
    "include:_spf.other.example",
    "~all",
    "-all",
    "redirect=_spf.third.example",
  );
  fc.assert(
    fc.property(fc.array(term), (terms) => {
      const spf = ["v=spf1", ...terms].join(" ");
      const joined = withInclude(spf, HOST);
      assert.ok(isSpf(joined) && includes(joined, HOST) && !includes(spf, HOST), joined);
      assert.equal(withInclude(joined, HOST), joined);
      assert.equal(withoutInclude(joined, HOST), spf);
    }),
  );
});

test("what is SPF, and what includes a host", () => {
  assert.deepEqual(["v=spf1", "V=SPF1 -all", "v=spf10 -all", "v=spf1\t-all", " v=spf1", "spf1"].map(isSpf), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  assert.deepEqual(
    ["v=spf1 +Include:_SPF.mx.example", "v=spf1 -include:_spf.mx.example", "v=spf1 include:_spf.mx.example.org"].map(
      (spf) => includes(spf, HOST),
    ),
    [true, false, false],
  );
});

test("the strings of a TXT record are one text", () => {
  assert.equal(textOf('"v=spf1 include:a" "b.example -all"'), "v=spf1 include:ab.example -all");
  assert.equal(textOf('"a\\"b"'), 'a"b');
  assert.equal(textOf('"not closed'), '"not closed');
});
