import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createIsoFormat } from "./iso-time.ts";

const MAX_TIME = 8_640_000_000_000_000;

test("formats timestamps exactly as toISOString() does", () => {
  const iso = createIsoFormat();
  const anyTime = fc.oneof(
    fc.integer({ min: -MAX_TIME, max: MAX_TIME }),
    fc.double({ min: -1e12, max: 2e12, noNaN: true }),
    // Times around midnight, on both sides of the epoch.
    fc
      .tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -2, max: 2 }))
      .map(([day, ms]) => day * 86_400_000 + ms),
  );
  fc.assert(
    fc.property(fc.array(anyTime, { minLength: 1, maxLength: 5 }), (times) => {
      for (const ms of times) assert.equal(iso(ms), new Date(ms).toISOString());
    }),
  );
});

test("throws a RangeError for an invalid time", () => {
  const iso = createIsoFormat();
  assert.equal(iso(MAX_TIME), new Date(MAX_TIME).toISOString());
  for (const ms of [NaN, Infinity, MAX_TIME + 1]) assert.throws(() => iso(ms), RangeError);
  assert.equal(iso(0), "1970-01-01T00:00:00.000Z");
});
