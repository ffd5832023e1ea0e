import assert from "node:assert/strict";
import { test } from "node:test";
import { areVersionsCompatible } from "./versions.ts";

test("versions are compatible if they are at most one minor version apart", () => {
  const cases: [string, string, boolean][] = [
    ["1.4.0", "1.4.9", true],
    ["1.4.0", "1.5.0", true],
    ["1.5.2", "1.4.0", true],
    ["1.4.0", "1.6.0", false],
    ["1.9.0", "2.0.0", false],
    ["2.0.0-rc.1", "2.0.0", true],
    ["main", "main", true],
    ["main", "1.4.0", false],
  ];
  for (const [one, other, expected] of cases)
    assert.equal(areVersionsCompatible(one, other), expected, `${one} and ${other}`);
});
