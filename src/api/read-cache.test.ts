import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadCache, type ReadCache } from "./read-cache.ts";

/** Stores a response that is read for the second time. */
function put(cache: ReadCache<undefined>, url: string, version: number, answer: string) {
  for (let read = 0; read < 2; read++) cache.put(url, version, answer, undefined);
}

test("a cached response is valid only for its version", () => {
  const cache = createReadCache<undefined>();
  put(cache, "/a", 1, "one");
  assert.equal(cache.get("/a", 1), "one");
  assert.equal(cache.get("/a", 2), undefined);
  assert.equal(cache.get("/a", 1), undefined, "an outdated entry is removed");
});

test("evicts entries that are not being used", () => {
  const cache = createReadCache<undefined>(2 * 3 * (2 + 100));
  for (const url of ["/a", "/b", "/c"]) put(cache, url, 1, "x".repeat(100));
  cache.get("/a", 1);
  put(cache, "/d", 1, "x".repeat(100));
  assert.deepEqual(
    ["/a", "/b", "/c", "/d"].filter((url) => cache.get(url, 1) !== undefined),
    ["/a", "/c", "/d"],
  );
  put(cache, "/long", 1, "x".repeat(200_000));
  assert.equal(cache.get("/long", 1), undefined);
});

test("stores no response that is read only once", () => {
  const cache = createReadCache<undefined>();
  cache.put("/a", 1, "one", undefined);
  assert.equal(cache.get("/a", 1), undefined);
  cache.put("/a", 1, "one", undefined);
  assert.equal(cache.get("/a", 1), "one");
});
