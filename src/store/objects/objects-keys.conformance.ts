import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import type { ObjectStore } from "./port.ts";
import { all, keysOf, read } from "./objects.testing.ts";

/**
 * Tests keys of objects for every `ObjectStore` driver: copies, deletions, lists and invalid keys. `open` returns an
 * empty store that is removed after the test.
 */
export function objectKeysConformance(open: (t: TestContext) => Promise<ObjectStore>): void {
  describe("copy", () => {
    test("adds a key for the same bytes; each key is deleted separately", async (t) => {
      const store = await open(t);
      await store.put("a/1", Buffer.from("first"));
      await store.put("b/2", Buffer.from("other"));
      await store.copy("a/1", "b/2");
      await store.copy("a/1", "b/2");
      await store.delete(["a/1"]);
      assert.deepEqual(await keysOf(store), ["b/2"]);
      assert.equal(String(await read(store, "b/2")), "first");
      await store.put("b/2", Buffer.from("again"));
      await store.copy("b/2", "a/1");
      await store.put("b/2", Buffer.from("changed"));
      assert.equal(String(await read(store, "a/1")), "again");
      await assert.rejects(store.copy("absent", "c"), (err) => isStoreError(err, "absent"));
      await assert.rejects(store.copy("a/1/x", "c"), (err) => isStoreError(err, "absent"));
    });
  });

  describe("delete", () => {
    test("removes only the given keys and ignores missing ones", async (t) => {
      const store = await open(t);
      for (const key of ["a/1", "a/2", "b"]) await store.put(key, Buffer.from(key));
      await store.delete(["a/1", "absent", "a/1/x", "a", "b"]);
      assert.deepEqual(await keysOf(store), ["a/2"]);
      await store.delete([]);
      await store.put("a/1", Buffer.from("again"));
      assert.deepEqual(await keysOf(store), ["a/1", "a/2"]);
    });
  });

  describe("list", () => {
    test("starts after the given key and excludes it", async (t) => {
      const store = await open(t);
      for (const key of ["a/1", "a/2", "a/3", "b"]) await store.put(key, Buffer.from(key));
      assert.deepEqual(await keysOf(store, "", "a/2"), ["a/3", "b"]);
      assert.deepEqual(await keysOf(store, "a/", "a/3"), []);
    });

    test("returns keys in order, by prefix and after a key", async (t) => {
      const store = await open(t);
      const word = fc
        .string({ unit: fc.constantFrom("a", "b", "-", ".", "_", "A", "0", "~"), minLength: 1, maxLength: 3 })
        .filter((text) => !text.startsWith("."));
      const key = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("/"));
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(key, { maxLength: 30 }),
          key,
          key,
          fc.nat(5),
          async (candidates, prefixOf, after, cut) => {
            await store.delete(await keysOf(store));
            const keys = candidates.filter((one) => !candidates.some((other) => other.startsWith(`${one}/`))).sort();
            await Promise.all(keys.map((each) => store.put(each, Buffer.from(each), { durable: false })));
            const prefix = prefixOf.slice(0, cut);
            assert.deepEqual(await keysOf(store), keys);
            assert.deepEqual(
              await keysOf(store, prefix),
              keys.filter((each) => each.startsWith(prefix)),
            );
            assert.deepEqual(
              await keysOf(store, prefix, after),
              keys.filter((each) => each.startsWith(prefix) && each > after),
            );
          },
        ),
        { numRuns: 60 },
      );
    });

    test("returns sizes and times", async (t) => {
      const store = await open(t);
      const before = Date.now() - 2000;
      await store.put("x/y", Buffer.alloc(123));
      const [found] = await all(store.list("x/"));
      assert.equal(found?.size, 123);
      assert.ok(found!.modified.getTime() >= before && found!.modified.getTime() <= Date.now() + 2000);
    });
  });

  test("every driver rejects a key that some driver cannot store", async (t) => {
    const store = await open(t);
    const bad = [
      "",
      "/",
      "/a",
      "a/",
      "a//b",
      ".",
      "..",
      "a/../b",
      "../a",
      ".tmp/x",
      "a/.b",
      "a b",
      "a\0b",
      "a\\b",
      "ü",
      "a\nb",
      "x".repeat(201),
      Array.from({ length: 300 }, () => "abc").join("/"),
    ];
    for (const key of bad) {
      const refused = (err: unknown) => isStoreError(err, "badKey");
      await assert.rejects(store.put(key, Buffer.alloc(1)), refused, key);
      await assert.rejects(store.open(key), refused, key);
      await assert.rejects(store.delete([key]), refused, key);
    }
    for (const prefix of ["..", "../", "a/../", "/"])
      await assert.rejects(keysOf(store, prefix), (err) => isStoreError(err, "badKey"), prefix);
    assert.deepEqual(await keysOf(store), []);
  });
}
