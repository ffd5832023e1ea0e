import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compileRules, parseRules, type AccessRule } from "./rules.ts";

const judge = (rules: AccessRule[], ip: string, country?: string) =>
  compileRules(rules)({ ip, country: () => country });
const bad = (value: unknown): string => {
  const reading = parseRules(value);
  assert.ok(!reading.ok, JSON.stringify(value));
  return reading.why;
};

test("the first matching rule applies, and without a match every viewer is allowed", () => {
  const rules: AccessRule[] = [
    { type: "ip.geoip.country", action: "block", country: ["US", "MX"] },
    { type: "ip.src", action: "allow", ip: ["93.184.216.0/24", "2400:cb00::/32"] },
    { type: "any", action: "block" },
  ];
  assert.equal(judge(rules, "93.184.216.34", "US"), "block");
  assert.equal(judge(rules, "93.184.216.34", "DE"), "allow");
  assert.equal(judge(rules, "93.184.216.34"), "allow");
  assert.equal(judge(rules, "2400:cb00::7", "DE"), "allow");
  assert.equal(judge(rules, "10.0.0.1", "DE"), "block");
  assert.equal(judge(rules.slice(0, 2), "10.0.0.1", "DE"), "allow");
  assert.equal(judge([], "10.0.0.1"), "allow");
});

test("a range contains only its own address family, and IPv4-mapped IPv6 is IPv4", () => {
  const block = (...ip: string[]): AccessRule[] => [{ type: "ip.src", action: "block", ip }];
  assert.equal(judge(block("0.0.0.0/0"), "2001:db8::1"), "allow");
  assert.equal(judge(block("0.0.0.0/0"), "::ffff:10.0.0.1"), "block");
  assert.equal(judge(block("::/0"), "10.0.0.1"), "allow");
  assert.equal(judge(block("::/0"), "2001:db8::1"), "block");
  assert.equal(judge(block("::ffff:10.0.0.0/104"), "10.1.2.3"), "block");
  assert.equal(judge(block("::ffff:10.0.0.1"), "10.0.0.1"), "block");
  assert.equal(judge(block("::ffff:10.0.0.1"), "10.0.0.2"), "allow");
  assert.equal(judge(block("2001:DB8::/32"), "2001:db8:ffff::1"), "block");
  assert.equal(judge(block("10.0.0.1"), "not an address"), "allow");
});

test("addresses match exactly the ranges that contain them", () => {
  const number = (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].join(".");
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.integer({ min: 0, max: 32 }),
      fc.nat(31),
      (a, b, prefix, flip) => {
        const range: AccessRule[] = [{ type: "ip.src", action: "block", ip: [`${number(a)}/${prefix}`] }];
        const near = (a ^ (1 << flip)) >>> 0;
        for (const viewer of [a, b, near]) {
          const same = prefix === 0 || a >>> (32 - prefix) === viewer >>> (32 - prefix);
          assert.equal(
            judge(range, number(viewer)),
            same ? "block" : "allow",
            `${number(viewer)} in ${number(a)}/${prefix}`,
          );
        }
      },
    ),
  );
});

test("an unknown country is in no list", () => {
  assert.equal(judge([{ type: "ip.geoip.country", action: "block", country: ["US"] }], "10.0.0.1"), "allow");
  assert.equal(
    judge(
      [
        { type: "ip.geoip.country", action: "allow", country: ["US"] },
        { type: "any", action: "block" },
      ],
      "10.0.0.1",
    ),
    "block",
  );
});

test("the country is looked up only if a rule needs it", () => {
  const country = () => assert.fail("the country was looked up");
  assert.equal(
    compileRules([
      { type: "any", action: "block" },
      { type: "ip.geoip.country", action: "allow", country: ["US"] },
    ])({ ip: "10.0.0.1", country }),
    "block",
  );
});

test("invalid rules are rejected with a reason that specifies the invalid one", () => {
  const reading = parseRules([
    { type: "ip.geoip.country", action: "allow", country: ["de", "T1"] },
    { type: "ip.src", action: "block", ip: "10.0.0.1" },
  ]);
  assert.deepEqual(reading, {
    ok: true,
    rules: [
      { type: "ip.geoip.country", action: "allow", country: ["DE", "T1"] },
      { type: "ip.src", action: "block", ip: ["10.0.0.1"] },
    ],
  });
  assert.deepEqual(parseRules(undefined), { ok: true, rules: [] });
  assert.deepEqual(parseRules(null), { ok: true, rules: [] });
  assert.match(bad({}), /not a list/);
  assert.match(bad(Array.from({ length: 6 }, () => ({ type: "any", action: "block" }))), /6 rules; at most 5/);
  assert.match(bad([{ type: "any", action: "block" }, 7]), /^accessRules\[1\] is not an object/);
  assert.match(bad([{ type: "any", action: "deny" }]), /\[0\]\.action/);
  assert.match(bad([{ type: "ip", action: "block" }]), /\.type/);
  assert.match(bad([{ type: "ip.src", action: "block" }]), /\.ip is not a list/);
  assert.match(bad([{ type: "ip.src", action: "block", ip: [] }]), /\.ip is not a list/);
  for (const ip of ["10.0.0.0/33", "10.0.0", "::/129", "example.com", "", "10.0.0.1/", "10.0.0.1/8/8", "fe80::1%eth0"])
    assert.match(bad([{ type: "ip.src", action: "block", ip: ["10.0.0.1", ip] }]), /\.ip\[1\] is neither/, ip);
  for (const country of ["USA", "U", "", "1A", "U$", 5])
    assert.match(bad([{ type: "ip.geoip.country", action: "block", country: [country] }]), /\.country/);
});

test("any input is either rejected or yields rules that can be evaluated", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          type: fc.constantFrom("any", "ip.src", "ip.geoip.country", "x"),
          action: fc.constantFrom("allow", "block"),
          ip: fc.oneof(
            fc.array(
              fc.oneof(
                fc.ipV4(),
                fc.ipV6(),
                fc.ipV4().map((ip) => `${ip}/9`),
                fc.ipV6().map((ip) => `::ffff:${ip}`),
              ),
            ),
            fc.anything(),
          ),
          country: fc.anything(),
        }),
      ),
      fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()),
      (value, ip) => {
        const reading = parseRules(value);
        if (reading.ok) assert.match(judge(reading.rules, ip, "DE"), /^(allow|block)$/);
        else assert.ok(reading.why.length < 200);
      },
    ),
  );
});
