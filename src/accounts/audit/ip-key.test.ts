import assert from "node:assert/strict";
import { test } from "node:test";
import { ipKey, ipKeyRange } from "./ip-key.ts";

test("orders addresses by value, and maps IPv4 to IPv6", () => {
  assert.equal(ipKey("192.0.2.1"), `${"0".repeat(20)}ffffc0000201`);
  assert.equal(ipKey("::ffff:192.0.2.1"), ipKey("192.0.2.1"));
  assert.equal(ipKey("2001:db8::1"), "20010db8000000000000000000000001");
  assert.equal(ipKey("2001:DB8:0:0::1"), ipKey("2001:db8::1"));
  assert.equal(ipKey("fe80::1%eth0"), ipKey("fe80::1"));
  assert.equal(ipKey("::"), "0".repeat(32));
  assert.equal(ipKey("not an address"), "");
  assert.equal(ipKey(undefined), "");
});

test("spans a range, whatever the host bits of its text", () => {
  assert.deepEqual(ipKeyRange("10.1.2.3/8"), { first: ipKey("10.0.0.0"), last: ipKey("10.255.255.255") });
  assert.deepEqual(ipKeyRange("2001:db8::/32"), {
    first: ipKey("2001:db8::"),
    last: ipKey("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
  });
  assert.deepEqual(ipKeyRange("192.0.2.7"), { first: ipKey("192.0.2.7"), last: ipKey("192.0.2.7") });
  assert.deepEqual(ipKeyRange("::/0"), { first: "0".repeat(32), last: "f".repeat(32) });
  for (const range of ["10.0.0.0/33", "10.0.0", "", "x"]) assert.equal(ipKeyRange(range), undefined);
});
