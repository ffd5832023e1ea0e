import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadCache } from "./read-cache.ts";

test("a cached response is valid only for its version", () => {
  const cache = createReadCache();
  cache.put("/a", 1, "one");
  assert.equal(cache.get("/a", 1), "one");
  assert.equal(cache.get("/a", 2), undefined);
  assert.equal(cache.get("/a", 1), undefined, "an outdated entry is removed");
});

test("evicts entries that are not being used", () => {
  const cache = createReadCache(2 * 3 * (2 + 100));
  for (const url of ["/a", "/b", "/c"]) cache.put(url, 1, "x".repeat(100));
  cache.get("/a", 1);
  cache.put("/d", 1, "x".repeat(100));
  assert.deepEqual(
    ["/a", "/b", "/c", "/d"].filter((url) => cache.get(url, 1) !== undefined),
    ["/a", "/c", "/d"],
  );
  cache.put("/long", 1, "x".repeat(200_000));
  assert.equal(cache.get("/long", 1), undefined);
});
