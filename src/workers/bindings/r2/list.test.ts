import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { successor } from "./list.ts";

const before = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

test("the successor of a prefix separates its keys from the keys that follow", () => {
  const text = fc.string({
    unit: fc.constantFrom("\0", "/", "a", "b", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"),
    maxLength: 6,
  });
  fc.assert(
    fc.property(text, text, (prefix, rest) => {
      const next = successor(prefix);
      if (next === undefined) return assert.match(prefix, /^\u{10ffff}*$/u);
      assert.ok(next.isWellFormed());
      assert.ok(before(prefix + rest, next), "keys with the prefix sort before its successor");
      if (!rest.startsWith(prefix) && before(prefix, rest))
        assert.ok(!before(rest, next), "later keys without the prefix do not sort before its successor");
    }),
    { numRuns: 1000 },
  );
});
