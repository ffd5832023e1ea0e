import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { allowsMx, formatPolicy, readPolicy, type StsPolicy } from "./policy.ts";
import { policyIdOf, recordFor } from "./record.ts";

const read = (text: string): StsPolicy => {
  const reading = readPolicy(text);
  assert.ok(reading.ok, JSON.stringify(reading));
  return reading.policy;
};

test("RFC 8461 3.2: reads the example in the standard", () => {
  const text =
    "version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.example.net\r\nmx: backupmx.example.com\r\nmax_age: 604800\r\n";
  assert.deepEqual(read(text), {
    mode: "enforce",
    maxAge: 604_800,
    mx: ["mail.example.com", "*.example.net", "backupmx.example.com"],
  });
});

test("ignores order, bare line feeds, unknown keys, trailing spaces and repeated keys", () => {
  const text =
    "max_age:86400\nx-new: anything at all\nmx:MAIL.Example.COM.\nmode: testing  \nversion: STSv1\nmode: none\n\n";
  assert.deepEqual(read(text), { mode: "testing", maxAge: 86_400, mx: ["mail.example.com"] });
  assert.deepEqual(read("version: STSv1\nmode: none\nmax_age: 0"), { mode: "none", maxAge: 0, mx: [] });
  assert.equal(read("version: STSv1\nmode: none\nmax_age: 9999999999").maxAge, 31_557_600);
});

test("accepts a policy of 64 kilobytes (RFC 8461 3.3)", () => {
  const start = "version: STSv1\nmode: none\nmax_age: 1\n";
  assert.deepEqual(read(start + "\n".repeat(65_536 - start.length)), { mode: "none", maxAge: 1, mx: [] });
});

test("rejects an ambiguous policy with the reason", () => {
  const whys: [string, RegExp][] = [
    ["", /version/],
    ["version: STSv2\nmode: none\nmax_age: 1", /version/],
    ["version: STSv1\nmode: Enforce\nmx: a.example\nmax_age: 1", /mode/],
    ["version: STSv1\nmode: enforce\nmax_age: 1", /no mx/],
    ["version: STSv1\nmode: enforce\nmx: a.example\nmax_age: -1", /max_age/],
    ["version: STSv1\nmode: enforce\nmx: a.example\nmax_age: 12345678901", /max_age/],
    ["version: STSv1\nmode: enforce\nmx: *.*.example\nmax_age: 1", /mx is not a host name/],
    ["version: STSv1\nmode: enforce\nmx: mail*.example\nmax_age: 1", /mx is not a host name/],
    ["version: STSv1\nmode: enforce\nmx: [192.0.2.1]\nmax_age: 1", /mx is not a host name/],
    ["<html>not found</html>", /key: value/],
    ["x".repeat(65_537), /larger/],
    [`version: STSv1\n${"mx: a.example\n".repeat(501)}`, /more than 500/],
  ];
  for (const [text, why] of whys) {
    const reading = readPolicy(text);
    assert.ok(!reading.ok, text.slice(0, 60));
    assert.match(reading.why, why);
  }
});

test("RFC 8461 4.1: a wildcard matches exactly one label", () => {
  const policy = { mx: ["mail.example.com", "*.example.net"] };
  assert.equal(allowsMx(policy, "MAIL.example.com."), true);
  assert.equal(allowsMx(policy, "mx1.example.net"), true);
  assert.equal(allowsMx(policy, "a.mx1.example.net"), false);
  assert.equal(allowsMx(policy, "example.net"), false);
  assert.equal(allowsMx(policy, ".example.net"), false);
  assert.equal(allowsMx(policy, "example.com"), false);
  assert.equal(allowsMx(policy, "mail.example.com.evil.example"), false);
  assert.equal(allowsMx({ mx: [] }, ""), false);
});

test("reads back the policy it has written", () => {
  const host = fc.stringMatching(/^[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,5}){1,3}$/);
  const pattern = fc.tuple(fc.boolean(), host).map(([wild, name]) => (wild ? `*.${name}` : name));
  fc.assert(
    fc.property(
      fc.constantFrom("enforce", "testing", "none"),
      fc.nat(31_557_600),
      fc.array(pattern, { minLength: 1, maxLength: 5 }),
      (mode, maxAge, mx) => {
        const policy = { mode, maxAge, mx } as StsPolicy;
        const text = formatPolicy(policy);
        assert.deepEqual(read(text), policy);
        assert.equal(policyIdOf([recordFor(text)]), policyIdOf(["v=spf1 -all", recordFor(text)]));
        for (const host of mx) assert.equal(allowsMx(policy, host.replace("*", "any")), true);
      },
    ),
  );
});

test("RFC 8461 3.1: reads the id in a TXT record", () => {
  assert.equal(policyIdOf(["v=STSv1; id=20160831085700Z;"]), "20160831085700Z");
  assert.equal(policyIdOf(["v=spf1 -all", "v=STSv1;id=1"]), "1");
  assert.equal(policyIdOf(["v=STSv1 ; ext=some:value ; id=a ; id=b"]), "a");
  for (const records of [
    [],
    ["v=STSv1;"],
    ["v=stsv1; id=1;"],
    ["v=STSv1; id=1;", "v=STSv1; id=2;"],
    ["v=STSv1; id=1_2;"],
    ["v=STSv1; id=;"],
    ["v=STSv1; id=1;;"],
    [`v=STSv1; id=${"1".repeat(33)};`],
    ["v=STSv1; =x; id=1"],
  ]) {
    assert.equal(policyIdOf(records), undefined, JSON.stringify(records));
  }
});

test("reads any text without throwing", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.string().map((text) => `version: STSv1\nmode: enforce\nmx: ${text}\nmax_age: 1`),
      ),
      (text) => {
        readPolicy(text);
        policyIdOf([text, `v=STSv1; ${text}`]);
        allowsMx({ mx: ["*.example.net"] }, text);
      },
    ),
  );
});
