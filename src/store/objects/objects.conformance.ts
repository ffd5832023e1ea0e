import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import type { ObjectStore } from "./port.ts";

/** Behaviour of every `ObjectStore` driver. `open` returns an empty store that is removed after the test. */
export function objectsConformance(open: (t: TestContext) => Promise<ObjectStore>): void {
  const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const keysOf = async (store: ObjectStore, prefix = "", after?: string) =>
    (await all(store.list(prefix, after))).map(({ key }) => key);
  const read = async (store: ObjectStore, key: string) => (await store.open(key))?.bytes();

  describe("put", () => {
    test("stores bytes and returns their size and sha256", async (t) => {
      const store = await open(t);
      for (const size of [0, 1, 4096, 65_536, 65_537, 300_000, 3_000_000]) {
        const bytes = randomBytes(size);
        assert.deepEqual(await store.put(`kv/ns/${size}`, bytes), { size, sha256: sha256(bytes), digests: {} });
        const object = await store.open(`kv/ns/${size}`);
        assert.equal(object?.size, size);
        assert.equal(Buffer.compare(await object!.bytes(), bytes), 0);
        assert.equal(Buffer.compare(await buffer(object!.read()), bytes), 0);
      }
    });

    test("accepts a stream of any chunk sizes, from a source that reuses its buffer", async (t) => {
      const store = await open(t);
      const sizes = [1, 0, 100_000, 262_144, 262_145, 7, 1_000_000, 3];
      const whole: Buffer[] = [];
      async function* source() {
        const reused = Buffer.alloc(1_000_000);
        for (const [index, size] of sizes.entries()) {
          reused.fill(index + 1, 0, size);
          whole.push(Buffer.from(reused.subarray(0, size)));
          yield reused.subarray(0, size);
        }
      }
      const stored = await store.put("mail/day/1.eml", source(), { digests: ["md5", "sha1", "sha384", "sha512"] });
      const bytes = Buffer.concat(whole);
      assert.equal(stored.size, bytes.length);
      assert.equal(stored.sha256, sha256(bytes));
      for (const [name, value] of Object.entries(stored.digests))
        assert.equal(value, createHash(name).update(bytes).digest("hex"), name);
      assert.deepEqual(Object.keys(stored.digests), ["md5", "sha1", "sha384", "sha512"]);
      assert.equal(Buffer.compare((await read(store, "mail/day/1.eml"))!, bytes), 0);
    });

    test("is visible only when complete, and reads its source with back-pressure", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.from("before"));
      let chunks = 0;
      const { promise: unblocked, resolve: unblock } = Promise.withResolvers<void>();
      const { promise: halfway, resolve: reachHalf } = Promise.withResolvers<void>();
      async function* source() {
        for (chunks = 1; chunks <= 4; chunks++) {
          if (chunks === 3) {
            reachHalf();
            await unblocked;
          }
          yield Buffer.alloc(400_000, chunks);
        }
      }
      const put = store.put("a", source());
      await halfway;
      assert.equal(chunks, 3);
      assert.equal(String(await read(store, "a")), "before");
      assert.deepEqual(await keysOf(store), ["a"]);
      unblock();
      assert.equal((await put).size, 1_600_000);
      assert.equal((await read(store, "a"))?.length, 1_600_000);
    });

    test("keeps the previous object if the source fails, and passes on the error", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.from("before"));
      // An error with a system code, as a file source would throw: it must still be reported as the source's error.
      const reason = Object.assign(new Error("the peer went away"), { code: "EACCES" });
      for (const key of ["a", "b"]) {
        await assert.rejects(
          store.put(
            key,
            (async function* () {
              yield Buffer.alloc(500_000);
              throw reason;
            })(),
          ),
          reason,
        );
      }
      assert.equal(String(await read(store, "a")), "before");
      assert.deepEqual(await keysOf(store), ["a"]);
    });

    test("rejects a body over maxBytes, leaves nothing behind and closes the source", async (t) => {
      const store = await open(t);
      let released = false;
      async function* source() {
        try {
          for (;;) yield Buffer.alloc(10);
        } finally {
          released = true;
        }
      }
      assert.equal(
        (await store.put("fits", Readable.from([Buffer.alloc(60), Buffer.alloc(40)]), { maxBytes: 100 })).size,
        100,
      );
      await assert.rejects(store.put("a", source(), { maxBytes: 100 }), (err) => isStoreError(err, "tooLarge"));
      await assert.rejects(store.put("a", Buffer.alloc(101), { maxBytes: 100 }), (err) =>
        isStoreError(err, "tooLarge"),
      );
      await assert.rejects(
        store.put("a", Readable.from([Buffer.alloc(60), Buffer.alloc(41)]), { maxBytes: 100 }),
        (err) => isStoreError(err, "tooLarge"),
      );
      assert.equal(released, true);
      assert.deepEqual(await keysOf(store), ["fits"]);
    });

    test("replaces an existing object, also without durability", async (t) => {
      const store = await open(t);
      for (const text of ["one", "three", "two"])
        await store.put("a/b", Buffer.from(text), { durable: text !== "three" });
      assert.equal(String(await read(store, "a/b")), "two");
    });

    test("concurrent puts to one key leave one complete object", async (t) => {
      const store = await open(t);
      await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          store.put(
            "race/x",
            n % 2 ? Buffer.alloc(70_000, n) : Readable.from([Buffer.alloc(30_000, n), Buffer.alloc(40_000, n)]),
          ),
        ),
      );
      const bytes = (await read(store, "race/x"))!;
      assert.equal(bytes.length, 70_000);
      assert.equal(
        bytes.every((byte) => byte === bytes[0]),
        true,
      );
      assert.deepEqual(await keysOf(store), ["race/x"]);
    });
  });

  describe("read", () => {
    test("returns any range like a slice, from independent streams", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(2_500_000);
      await store.put("a", bytes);
      const object = (await store.open("a"))!;
      await fc.assert(
        fc.asyncProperty(fc.nat(bytes.length - 1), fc.option(fc.nat(bytes.length + 10)), async (start, length) => {
          const end = length === null ? undefined : start + length;
          const [once, twice] = await Promise.all([
            buffer(object.read({ start, end })),
            buffer(object.read({ start, end })),
          ]);
          assert.equal(Buffer.compare(once, bytes.subarray(start, end === undefined ? undefined : end + 1)), 0);
          assert.equal(Buffer.compare(once, twice), 0);
        }),
        { numRuns: 25 },
      );
    });

    test("reads the same bytes into the caller's buffer, if the driver has a reader", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(700_000);
      await store.put("a", bytes);
      const object = (await store.open("a"))!;
      const reader = object.reader?.();
      if (reader === undefined) return t.skip("this driver has only streams");
      const into = Buffer.alloc(100_000);
      const parts: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const count = await reader.read(into, at);
        parts.push(Buffer.from(into.subarray(0, count)));
        at += count;
      }
      assert.equal(Buffer.compare(Buffer.concat(parts), bytes), 0);
      await assert.rejects(async () => reader.read(into, bytes.length));
      await store.put("a", randomBytes(700_000));
      assert.equal((await reader.read(into, 0)) > 0 && Buffer.compare(into.subarray(0, 10), bytes.subarray(0, 10)), 0);
      reader.close();
      assert.throws(
        () => object.reader!(),
        (err) => isStoreError(err, "objectChanged"),
      );
    });

    test("a version remains the same as long as the bytes do, and differs for other bytes of the same length", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.alloc(10, 1));
      const version = async () => (await store.open("a"))!.version;
      const before = await version();
      if (before === undefined) return t.skip("this driver returns no versions");
      assert.equal(await version(), before);
      await store.put("a", Buffer.alloc(10, 2));
      assert.notEqual(await version(), before);
    });

    test("rejects a range outside the object", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.alloc(10));
      await store.put("empty", Buffer.alloc(0));
      const object = (await store.open("a"))!;
      for (const range of [
        { start: 10 },
        { start: -1 },
        { start: 5, end: 4 },
        { start: 0.5 },
        { start: Number.NaN },
        { start: 0, end: Infinity },
      ]) {
        assert.throws(
          () => object.read(range),
          (err) => isStoreError(err, "badRange"),
          JSON.stringify(range),
        );
      }
      const empty = (await store.open("empty"))!;
      assert.throws(
        () => empty.read({ start: 0 }),
        (err) => isStoreError(err, "badRange"),
      );
    });

    test("never mixes two objects: rejects a read after the object was replaced or deleted", async (t) => {
      const store = await open(t);
      const gone = (err: unknown) => isStoreError(err, "objectChanged");
      for (const change of [() => store.put("a", Buffer.from("new bytes")), () => store.delete(["a"])]) {
        await store.put("a", Buffer.alloc(200_000));
        const object = (await store.open("a"))!;
        await change();
        await assert.rejects(object.bytes(), gone);
        await assert.rejects(buffer(object.read()), gone);
        await assert.rejects(buffer(object.read({ start: 3, end: 5 })), gone);
      }
    });

    test("a started read continues when the object is replaced", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.alloc(4_000_000, 1));
      const stream = (await store.open("a"))!.read();
      const parts: Buffer[] = [];
      for await (const part of stream) {
        if (parts.length === 0) await store.put("a", Buffer.alloc(5, 2));
        parts.push(part as Buffer);
      }
      const all = Buffer.concat(parts);
      assert.equal(all.length, 4_000_000);
      assert.equal(
        all.every((byte) => byte === 1),
        true,
      );
    });

    test("of a missing object is undefined", async (t) => {
      const store = await open(t);
      await store.put("a/b", Buffer.alloc(1));
      for (const key of ["b", "a", "a/c", "a/b/c", "x/y/z"]) assert.equal(await store.open(key), undefined, key);
    });
  });

  describe("copy", () => {
    test("adds a name for the bytes; each name is deleted separately", async (t) => {
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

  describe("file", () => {
    test("is a path at which another program can read the bytes", async (t) => {
      const store = await open(t);
      await store.put("a/1", Buffer.from("bytes"));
      assert.equal(readFileSync((await store.file("a/1"))!, "utf8"), "bytes");
      assert.equal(await store.file("a/2"), undefined);
    });
  });

  describe("partial", () => {
    test("grows by chunks of any size, also after another process takes over, and becomes visible when completed", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(3_000_000);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(bytes.length), { maxLength: 6 }),
          fc.integer({ min: 5000, max: 900_000 }),
          async (cuts, piece) => {
            const ends = [...cuts.sort((a, b) => a - b), bytes.length];
            let size = 0;
            for (const end of ends) {
              const partial = store.partial("stream/1/source");
              assert.equal(await partial.size(), size);
              size = await partial.append(size, pieces(bytes.subarray(size, end), piece));
              assert.equal(size, end);
              assert.equal(await store.open("stream/1/source"), undefined);
            }
            await store.partial("stream/1/source").complete(bytes.length);
            assert.equal(Buffer.compare((await read(store, "stream/1/source"))!, bytes), 0);
            assert.deepEqual(await keysOf(store), ["stream/1/source"]);
            assert.equal(await store.partial("stream/1/source").size(), 0);
            await store.delete(["stream/1/source"]);
          },
        ),
        { numRuns: 12 },
      );
    });

    test("keeps the data received before a source error, and passes on the error", async (t) => {
      const store = await open(t);
      const reason = Object.assign(new Error("the peer went away"), { code: "EACCES" });
      await assert.rejects(
        store.partial("a").append(
          0,
          (async function* () {
            yield* pieces(randomBytes(1_700_001), 65_536);
            throw reason;
          })(),
        ),
        reason,
      );
      assert.equal(await store.partial("a").size(), 1_700_001);
      assert.deepEqual(await keysOf(store), []);
    });

    test("can only be continued at its end and completed at its exact size, repeatedly if needed", async (t) => {
      const store = await open(t);
      const partial = store.partial("a");
      await partial.append(0, pieces(Buffer.from("12345"), 2));
      const misplaced = (err: unknown) => isStoreError(err, "badOffset");
      for (const offset of [0, 4, 6])
        await assert.rejects(partial.append(offset, pieces(Buffer.from("x"), 1)), misplaced);
      for (const size of [0, 4, 6]) await assert.rejects(partial.complete(size), misplaced);
      await partial.complete(5);
      await partial.complete(5);
      assert.equal(String(await read(store, "a")), "12345");
      await assert.rejects(store.partial("b").complete(5), (err) => isStoreError(err, "absent"));
      await assert.rejects(store.partial("a").complete(6), (err) => isStoreError(err, "absent"));
      assert.equal(await store.partial("empty").append(0, pieces(Buffer.alloc(0), 1)), 0);
      await store.partial("empty").complete(0);
      assert.equal((await store.open("empty"))?.size, 0);
    });

    test("disappears when discarded, and does not affect an object with the same key", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.from("old"));
      await store.partial("a").append(0, pieces(Buffer.from("new bytes"), 4));
      assert.equal(String(await read(store, "a")), "old");
      await store.partial("a").discard();
      await store.partial("a").discard();
      assert.equal(await store.partial("a").size(), 0);
      await store.partial("a").append(0, pieces(Buffer.from("new"), 4));
      await store.partial("a").complete(3);
      assert.equal(String(await read(store, "a")), "new");
    });
  });

  describe("delete", () => {
    test("removes the given keys only; missing ones are fine", async (t) => {
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

    test("is in key order, by prefix and after a key", async (t) => {
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

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
