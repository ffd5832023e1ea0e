import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOfHost, customerCode } from "./customer-code.ts";

test("each account has one code of sixteen letters and digits, different from those of other accounts", () => {
  const codes = new Set(Array.from({ length: 500 }, (_, i) => customerCode(i.toString(16).padStart(32, "0"))));
  assert.equal(codes.size, 500);
  for (const code of codes) assert.match(code, /^[a-z0-9]{16}$/);
  // Stored URLs contain it: it must never change.
  assert.equal(customerCode("a".repeat(32)), customerCode("a".repeat(32)));
  assert.equal(customerCode("0123456789abcdef0123456789abcdef"), "m90qo5w1ank5q3vb");
});

test("a delivery host contains its code", () => {
  const code = customerCode("a".repeat(32));
  assert.equal(codeOfHost(`customer-${code}.videos.example.com`, "videos.example.com"), code);
  assert.equal(codeOfHost(`Customer-${code}.Videos.Example.com.:8787`, "videos.example.com:8787"), code);
  for (const host of [
    `customer-${code}.example.com`,
    `customer-${code}x.videos.example.com`,
    "videos.example.com",
    `customer-${code}`,
    "",
  ])
    assert.equal(codeOfHost(host, "videos.example.com"), undefined, host);
  assert.equal(codeOfHost(`customer-${code}`, ""), undefined);
});
