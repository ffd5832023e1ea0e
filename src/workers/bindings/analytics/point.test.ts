import assert from "node:assert/strict";
import { test } from "node:test";
import { pointLimits } from "./limits.ts";
import { readPoint } from "./point.ts";

const POINT = { index: "i", blobs: ["b"], doubles: [1] };

test("a point at its limits is accepted", () => {
  const largest = {
    index: "x".repeat(pointLimits.indexBytes),
    blobs: Array<string>(pointLimits.blobs).fill("").with(0, "x".repeat(pointLimits.blobBytes)),
    doubles: Array<number>(pointLimits.doubles).fill(1),
  };
  assert.deepEqual(readPoint(largest), largest);
});

for (const [name, change] of Object.entries({
  "a long index": { index: "x".repeat(pointLimits.indexBytes + 1) },
  "too many blobs": { blobs: Array<string>(pointLimits.blobs + 1).fill("") },
  "too many doubles": { doubles: Array<number>(pointLimits.doubles + 1).fill(1) },
  "blobs that are too long": { blobs: ["x".repeat(pointLimits.blobBytes), "y"] },
  "a blob that is not a string": { blobs: [1] },
}))
  test(`a point with ${name} is rejected`, () => {
    assert.throws(() => readPoint({ ...POINT, ...change }), { kind: "invalidPoint" });
  });

test("U+0000 and lone surrogates, which PostgreSQL rejects, become U+FFFD", () => {
  const { index, blobs } = readPoint({ ...POINT, index: "a\0", blobs: ["\ud800b"] });
  assert.deepEqual([index, blobs], ["a\uFFFD", ["\uFFFDb"]]);
});
