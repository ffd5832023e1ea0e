import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { hasInclude, isSpf, parseSpfTerm, spfTerms, withInclude, withoutInclude } from "./index.ts";

const HOST = "_spf.mx.example";

test("adds an include to any record and removes it again", () => {
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
      assert.ok(isSpf(joined) && hasInclude(joined, HOST) && !hasInclude(spf, HOST), joined);
      assert.equal(withInclude(joined, HOST), joined);
      assert.equal(withoutInclude(joined, HOST), spf);
    }),
  );
});

test("recognizes SPF records and the hosts that they include", () => {
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
      (spf) => hasInclude(spf, HOST),
    ),
    [true, false, false],
  );
});

test("parses every mechanism with its qualifier and its lookups", () => {
  const read = (word: string) => {
    const term = parseSpfTerm(word);
    return typeof term === "object" ? [term.type, term.value, term.result, term.lookups, term.target] : term;
  };
  assert.deepEqual(["-all", "~A:x.example/24", "?mx", "+include:b.example", "redirect=c.example"].map(read), [
    ["ALL", "-all", "fail", 0, undefined],
    ["A", "~A:x.example/24", "soft_fail", 1, undefined],
    ["MX", "?mx", "neutral", 1, undefined],
    ["INCLUDE", "+include:b.example", "pass", 1, "b.example"],
    ["REDIRECT", "redirect=c.example", "pass", 1, "c.example"],
  ]);
  assert.deepEqual(["ip4:192.0.2.0/24", "-ip6:2001:db8::/32", "exp=why.example"].map(read), [
    ["IP4", "192.0.2.0/24", "pass", 0, undefined],
    ["IP6", "-2001:db8::/32", "fail", 0, undefined],
    "modifier",
  ]);
  assert.deepEqual(spfTerms("v=spf1  a   -all"), ["a", "-all"]);
});

test("rejects terms that RFC 7208 does not allow", () => {
  for (const word of [
    "include",
    "include:",
    "all:x",
    "ip4:2001:db8::1",
    "ip4:192.0.2.1/33",
    "ip6:::1/129",
    "redirect=",
    "b",
  ])
    assert.equal(parseSpfTerm(word), undefined, word);
});
