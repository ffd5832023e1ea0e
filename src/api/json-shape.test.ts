import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as check, jsonValue, property } from "fast-check";
import { checkJsonShape } from "./json-shape.ts";

const shape = (text: string, maxValues?: number) => checkJsonShape(Buffer.from(text), maxValues);

/** Returns the number of values and field names, which the checker determines from commas and brackets. */
function count(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value);
  return 1 + Math.max(0, inside.length - 1) + inside.reduce((sum: number, each) => sum + count(each), 0);
}

test("counts only the values outside strings, regardless of the strings' content", () => {
  check(
    property(jsonValue(), (value) => {
      const text = JSON.stringify(value);
      shape(text, 1 + count(value));
      assert.throws(() => shape(text, count(value)), { kind: "tooManyValues" });
    }),
    { examples: [[',[{"\\'], [{ '"\\,"': ["\\\\", '\\"', ","] }]].map(([value]) => [value]) as never },
  );
});

test("handles deep nesting and invalid JSON", () => {
  shape("[".repeat(200) + "]".repeat(200));
  assert.throws(() => shape("[".repeat(201) + "]".repeat(201)), { kind: "tooDeep" });
  shape("[[],".repeat(1000).replaceAll("[[]", "[]"), 10_000);
  for (const text of ['"', '"\\', '["\\"', "]]]]", ""]) shape(text, 2);
});
