import assert from "node:assert/strict";
import { test } from "node:test";
import { checkIpCondition, ipMatcher } from "./ip-condition.ts";

test("matches addresses inside and outside address blocks", () => {
  const lets = ipMatcher({
    in: ["192.0.2.0/24", "2001:db8::/32", "198.51.100.7"],
    notIn: ["192.0.2.128/25", "2001:db8:1::/48"],
  });
  for (const ip of ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "198.51.100.7"]) assert.ok(lets(ip), ip);
  for (const ip of [
    "192.0.2.200",
    "::ffff:192.0.2.200",
    "2001:db8:1::1",
    "198.51.100.8",
    "203.0.113.1",
    "2001:db9::1",
    "",
    "host",
    undefined,
  ])
    assert.ok(!lets(ip), String(ip));
});

test("a list of exceptions allows all other addresses, but not an unknown address", () => {
  const lets = ipMatcher({ notIn: ["10.0.0.0/8"] });
  assert.deepEqual(
    ["10.1.2.3", "192.0.2.1", "::1", undefined].map((ip) => lets(ip)),
    [false, true, true, false],
  );
  assert.ok(ipMatcher(null)(undefined));
});

test("rejects an invalid block and reports its position", () => {
  for (const bad of [
    "",
    "10.0.0.0/33",
    "2001:db8::/129",
    "10.0.0",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "fe80::1%eth0/64",
    "a.example",
  ]) {
    assert.throws(
      () => checkIpCondition({ in: ["10.0.0.1"], notIn: ["::/0", bad] }),
      /condition\.request_ip\.not_in\.1/,
      bad,
    );
  }
  assert.throws(() => checkIpCondition({ in: Array.from({ length: 201 }, () => "10.0.0.1") }), /at most 200/);
});

test("empty lists impose no condition", () => {
  assert.equal(checkIpCondition({ in: [], notIn: [] }), null);
  assert.equal(checkIpCondition(undefined), null);
  assert.deepEqual(checkIpCondition({ in: ["10.0.0.1/24"], notIn: [] }), { in: ["10.0.0.1/24"] });
});
