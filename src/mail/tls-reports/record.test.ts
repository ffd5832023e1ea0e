import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { reportTargetUri, readTlsrptRecord } from "./record.ts";

const read = (...texts: string[]) => readTlsrptRecord(texts).map(reportTargetUri);

test("reads the report addresses of a TLSRPT record", () => {
  assert.deepEqual(read("v=TLSRPTv1; rua=mailto:reports@example.com"), ["mailto:reports@example.com"]);
  assert.deepEqual(
    read(
      "v=spf1 -all",
      "v=TLSRPTv1 ;\trua=https://reporting.example.com/v1/tlsrpt , mailto:tls%2Breports@example.com;",
    ),
    ["https://reporting.example.com/v1/tlsrpt", "mailto:tls+reports@example.com"],
  );
  assert.deepEqual(read("v=TLSRPTv1; ext=1; rua=mailto:a@example.com?subject=x,mailto:a@example.com"), [
    "mailto:a@example.com",
  ]);
});

test("ignores TXT records unless exactly one is a TLSRPT record with usable addresses", () => {
  for (const texts of [
    [],
    ["v=spf1 -all"],
    ["v=TLSRPTv1"],
    ["v=TLSRPTv1;"],
    ["v=TLSRPTv10; rua=mailto:a@example.com"],
    ["v=TLSRPTv1; rua=mailto:a@example.com", "v=TLSRPTv1; rua=mailto:b@example.com"],
    ["v=TLSRPTv1; rua=http://example.com/"],
    ["v=TLSRPTv1; rua=mailto:nobody"],
    ["v=TLSRPTv1; rua=mailto:a%0d%0aBcc:b@example.com"],
    ["v=TLSRPTv1; rua=mailto:%zz@example.com"],
    [`v=TLSRPTv1; rua=mailto:a@example.com; x=${"y".repeat(5000)}`],
  ])
    assert.deepEqual(read(...texts), [], JSON.stringify(texts));
});

test("reads at most three addresses", () => {
  const all = ["a", "b", "c", "d"].map((name) => `mailto:${name}@example.com`);
  assert.deepEqual(read(`v=TLSRPTv1; rua=${all.join(",")}`), all.slice(0, 3));
});

test("reads arbitrary text without throwing, and never returns a line break", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      for (const one of read(`v=TLSRPTv1; rua=mailto:${text}`, text)) assert.doesNotMatch(one, /[\r\n]/);
    }),
  );
});
