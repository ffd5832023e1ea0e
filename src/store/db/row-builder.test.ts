import assert from "node:assert/strict";
import { test } from "node:test";
import { rowBuilder } from "./row-builder.ts";

test("rows are plain objects, regardless of their column names", () => {
  const names = ["id", "count(*)", 'a"b', "`${1}`", "\\", "__proto__", "constructor", "é", "\u2028", ""];
  const row = rowBuilder(names)(names.map((_, i) => i)) as Record<string, number>;
  assert.equal(Object.getPrototypeOf(row), Object.prototype);
  assert.deepEqual(
    Object.entries(row),
    names.map((name, i) => [name, i]),
  );
  assert.deepStrictEqual(rowBuilder([])([]), {});
  assert.deepStrictEqual(rowBuilder(["a", "a"])([1, 2]), { a: 2 });
});
