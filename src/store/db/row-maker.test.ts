import assert from "node:assert/strict";
import { test } from "node:test";
import { rowMaker } from "./row-maker.ts";

test("rows are plain objects, regardless of their column names", () => {
  const names = ["id", "count(*)", 'a"b', "`${1}`", "\\", "__proto__", "constructor", "é", "\u2028", ""];
  const row = rowMaker(names)(names.map((_, i) => i)) as Record<string, number>;
  assert.equal(Object.getPrototypeOf(row), Object.prototype);
  assert.deepEqual(
    Object.entries(row),
    names.map((name, i) => [name, i]),
  );
  assert.deepStrictEqual(rowMaker([])([]), {});
  assert.deepStrictEqual(rowMaker(["a", "a"])([1, 2]), { a: 2 });
});
