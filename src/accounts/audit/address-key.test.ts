import assert from "node:assert/strict";
import { test } from "node:test";
import { addressKey, addressKeys } from "./address-key.ts";

test("orders addresses by value, and maps IPv4 to IPv6", () => {
  assert.equal(addressKey("192.0.2.1"), `${"0".repeat(20)}ffffc0000201`);
  assert.equal(addressKey("::ffff:192.0.2.1"), addressKey("192.0.2.1"));
  assert.equal(addressKey("2001:db8::1"), "20010db8000000000000000000000001");
  assert.equal(addressKey("2001:DB8:0:0::1"), addressKey("2001:db8::1"));
  assert.equal(addressKey("fe80::1%eth0"), addressKey("fe80::1"));
  assert.equal(addressKey("::"), "0".repeat(32));
  assert.equal(addressKey("not an address"), "");
  assert.equal(addressKey(undefined), "");
});

test("spans a range, whatever the host bits of its text", () => {
  assert.deepEqual(addressKeys("10.1.2.3/8"), { first: addressKey("10.0.0.0"), last: addressKey("10.255.255.255") });
  assert.deepEqual(addressKeys("2001:db8::/32"), {
    first: addressKey("2001:db8::"),
    last: addressKey("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
  });
  assert.deepEqual(addressKeys("192.0.2.7"), { first: addressKey("192.0.2.7"), last: addressKey("192.0.2.7") });
  assert.deepEqual(addressKeys("::/0"), { first: "0".repeat(32), last: "f".repeat(32) });
  for (const range of ["10.0.0.0/33", "10.0.0", "", "x"]) assert.equal(addressKeys(range), undefined);
});
