import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  isLoopbackAddress,
  isNonPublicAddress,
  networkOf,
  networkSet,
  parseNetwork,
  unmappedAddress,
} from "./networks.ts";

const refuse = (range: string) => new Error(`not ${range}`);

test("treats special cloud and routing addresses as not public", () => {
  for (const address of ["168.63.129.16", "::ffff:168.63.129.16", "5f00::1", "5f00:ffff::1"])
    assert.equal(isNonPublicAddress(address), true, address);
  for (const address of ["168.63.129.17", "5f01::1"]) assert.equal(isNonPublicAddress(address), false, address);
});

test("parses addresses and ranges, and nothing else", () => {
  assert.deepEqual(parseNetwork("10.0.0.5"), { address: "10.0.0.5", prefix: 32, family: "ipv4" });
  assert.deepEqual(parseNetwork("2001:db8::/32"), { address: "2001:db8::", prefix: 32, family: "ipv6" });
  for (const text of [
    "10.0.0.0/33",
    "proxy.example",
    "10.0.0.5/",
    "::/129",
    "",
    " 10.0.0.5",
    "10.0.0.5\n",
    "fe80::1%eth0",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "010.0.0.1",
  ])
    assert.equal(parseNetwork(text), undefined, JSON.stringify(text));
});

test("a set contains its addresses in every notation, and rejects invalid ones", () => {
  const has = networkSet(["10.0.0.5", "192.0.2.0/24", "2001:db8::/32", "fe80::/10"], refuse);
  for (const ip of [
    "10.0.0.5",
    "::ffff:10.0.0.5",
    "::FFFF:10.0.0.5",
    "::ffff:a00:5",
    "192.0.2.200",
    "2001:db8:1::1",
    "2001:0DB8::",
    "fe80::1%eth0",
  ])
    assert.equal(has(ip), true, ip);
  for (const ip of ["10.0.0.6", "::ffff:10.0.0.6", "2001:db9::1", "", undefined, "name", "10.0.0.5/32", "::10.0.0.5"])
    assert.equal(has(ip), false, String(ip));
  assert.equal(networkSet([], refuse)("10.0.0.5"), false);
  assert.throws(() => networkSet(["10.0.0.5", "intranet"], refuse), { message: "not intranet" });
});

test("an IPv4 range contains exactly the addresses with its prefix, also as IPv4-mapped IPv6", () => {
  const octets = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 });
  const bits = (ip: number[]) => ip.map((octet) => octet.toString(2).padStart(8, "0")).join("");
  fc.assert(
    fc.property(octets, octets, fc.nat(32), fc.boolean(), (a, b, prefix, mapped) => {
      const expected = bits(a).slice(0, prefix) === bits(b).slice(0, prefix);
      assert.equal(
        networkSet([`${a.join(".")}/${prefix}`], refuse)(`${mapped ? "::ffff:" : ""}${b.join(".")}`),
        expected,
      );
    }),
    { numRuns: 200 },
  );
});

test("counts an IPv4 address or an IPv6 /64 as one client", () => {
  assert.equal(networkOf("192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("2001:db8::1"), "2001:db8:0:0::/64");
  assert.equal(networkOf("2001:db8:0:0:1:2:3:4"), networkOf("2001:0DB8::"));
  assert.equal(networkOf("::1"), "0:0:0:0::/64");
  assert.equal(networkOf("fe80::1%eth0"), "fe80:0:0:0::/64");
  assert.equal(networkOf("64:ff9b::192.0.2.1"), "64:ff9b:0:0::/64");
  assert.notEqual(networkOf("2001:db8:0:1::1"), networkOf("2001:db8:0:2::1"));
  assert.deepEqual(
    [unmappedAddress("::ffff:10.0.0.1"), unmappedAddress("::1"), unmappedAddress(undefined)],
    ["10.0.0.1", "::1", ""],
  );
});

test("treats loopback, private, link-local, shared, reserved and translated addresses as not public (IANA special-purpose registries)", () => {
  const inside = [
    "0.1.2.3",
    "10.255.255.255",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::10.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:a00:1::",
    "3fff::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "::ffff:192.168.1.1",
  ];
  for (const ip of inside) assert.equal(isNonPublicAddress(ip), true, ip);
  for (const ip of [
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2606:4700::1111",
    "2a00::1",
  ])
    assert.equal(isNonPublicAddress(ip), false, ip);
  for (const ip of ["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"])
    assert.equal(isLoopbackAddress(ip), true, ip);
  for (const ip of ["126.255.255.255", "128.0.0.0", "::2"]) assert.equal(isLoopbackAddress(ip), false, ip);
});
