import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { matchesEtag, readRange } from "./range.ts";

test("handles the examples of RFC 9110 14.1.2, with 10000 octets", () => {
  const cases: [string | undefined, ReturnType<typeof readRange>][] = [
    ["bytes=0-499", { start: 0, end: 499 }],
    ["bytes=500-999", { start: 500, end: 999 }],
    ["bytes=-500", { start: 9500, end: 9999 }],
    ["bytes=9500-", { start: 9500, end: 9999 }],
    ["bytes=9500-20000", { start: 9500, end: 9999 }],
    ["bytes=-20000", { start: 0, end: 9999 }],
    ["bytes=10000-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=0-0,-1", undefined],
    ["bytes=5-4", undefined],
    ["bytes=-", undefined],
    ["items=0-1", undefined],
    ["bytes=0x0-1", undefined],
    ["", undefined],
    [undefined, undefined],
  ];
  for (const [field, range] of cases) assert.deepEqual(readRange(field, 10_000), range, String(field));
  assert.equal(readRange("bytes=0-", 0), "unsatisfiable");
  assert.equal(readRange("bytes=-5", 0), "unsatisfiable");
});

test("every requested range lies within the object", () => {
  const part = fc.oneof(fc.nat(200).map(String), fc.constantFrom("", "99999999999999999999", "-1", " "));
  fc.assert(
    fc.property(part, part, fc.nat(100), (first, last, size) => {
      const range = readRange(`bytes=${first}-${last}`, size);
      if (typeof range === "object") assert.ok(range.start >= 0 && range.start <= range.end && range.end < size);
    }),
  );
});

test("RFC 9110 13.1.2: matches any ETag in a list, by weak comparison", () => {
  for (const field of ['"a"', 'W/"a"', '"b", "a"', "*"]) assert.equal(matchesEtag(field, '"a"'), true, String(field));
  for (const field of [undefined, "", '"b"', '"aa"', "a"])
    assert.equal(matchesEtag(field, '"a"'), false, String(field));
});
