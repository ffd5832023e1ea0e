import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as check, jsonValue, property } from "fast-check";
import { boundedJson } from "./bounded-json.ts";

test("keeps what fits unchanged", () => {
  assert.equal(boundedJson({ name: "a", list: [1, null] }, 100), '{"name":"a","list":[1,null]}');
  assert.equal(boundedJson(undefined, 100), undefined);
  assert.equal(boundedJson(null, 100), "null");
});

test("replaces the largest fields by their size, and keeps the others", () => {
  assert.deepEqual(JSON.parse(boundedJson({ id: "1", code: "x".repeat(500), name: "a" }, 200)!), {
    id: "1",
    code: "[omitted: 502 bytes]",
    name: "a",
  });
});

test("keeps the first items of a list, and counts the rest", () => {
  const list = Array.from({ length: 100 }, (_, number) => ({ number }));
  const kept = JSON.parse(boundedJson(list, 200)!) as unknown[];
  assert.deepEqual(kept[0], { number: 0 });
  assert.equal(kept.at(-1), `[omitted: ${100 - (kept.length - 1)} items]`);
});

test("yields JSON within the bound for any value", () => {
  check(
    property(jsonValue(), (value) => {
      const text = boundedJson(value, 128)!;
      assert.ok(Buffer.byteLength(text) <= 128, text);
      JSON.parse(text);
    }),
  );
});
