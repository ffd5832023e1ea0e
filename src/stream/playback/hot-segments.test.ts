import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectHandle } from "../../store/index.ts";
import { createHotSegments } from "./hot-segments.ts";

/** Returns a segment that counts its reads. */
function segment(size: number, fill = 1): ObjectHandle & { reads: number } {
  const object = {
    size,
    reads: 0,
    version: `v${fill}`,
    read: () => assert.fail("the object was streamed"),
    async bytes() {
      object.reads++;
      return Buffer.alloc(size, fill);
    },
  };
  return object;
}

test("a segment is cached from its second request on, and read once for any number of concurrent requests", async () => {
  const hot = createHotSegments({ bytes: 8000 });
  const object = segment(1000);
  assert.equal(await hot.offer("a", object), undefined);
  assert.equal(object.reads, 0);
  const all = await Promise.all(Array.from({ length: 20 }, () => hot.offer("a", object)));
  assert.equal(object.reads, 1);
  assert.ok(all.every((one) => one?.memory.length === 1000 && one.version === "v1"));
  assert.equal(hot.get("a")?.memory[0], 1);
  assert.equal(hot.get("b"), undefined);
});

test("the least recently used segments are evicted, and a segment larger than an eighth of the cache is not cached", async () => {
  const hot = createHotSegments({ bytes: 3000 });
  const twice = async (key: string, size: number) => {
    await hot.offer(key, segment(size));
    return hot.offer(key, segment(size));
  };
  assert.equal(await twice("large", 376), undefined);
  const names = Array.from({ length: 9 }, (_, n) => `s${n}`);
  for (const name of names.slice(0, 8)) await twice(name, 375);
  assert.ok(names.slice(0, 8).every((name) => hot.get(name) !== undefined));
  hot.get("s0");
  await twice("s8", 375);
  assert.deepEqual(
    names.filter((name) => hot.get(name) === undefined),
    ["s1"],
  );
});

test("a segment loaded twice counts once", async () => {
  const hot = createHotSegments({ bytes: 8000 });
  for (let n = 0; n < 20; n++) await hot.offer("a", segment(1000));
  for (let n = 0; n < 2; n++)
    for (const key of ["b", "c", "d", "e", "f", "g", "h"]) await hot.offer(key, segment(1000));
  assert.ok(["a", "b", "c", "d", "e", "f", "g", "h"].every((key) => hot.get(key) !== undefined));
});

test("a segment that cannot be read is not cached, and the next request retries", async () => {
  const hot = createHotSegments({ bytes: 8000 });
  await hot.offer("a", segment(10));
  await assert.rejects(hot.offer("a", { ...segment(10), bytes: () => Promise.reject(new Error("disk")) }), /disk/);
  assert.equal((await hot.offer("a", segment(10)))?.size, 10);
});

test("caches nothing if the cache size is 0", async () => {
  const hot = createHotSegments({ bytes: 0 });
  for (let n = 0; n < 3; n++) assert.equal(await hot.offer("a", segment(10)), undefined);
});
