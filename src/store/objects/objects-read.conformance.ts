import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import type { ObjectStore } from "./port.ts";

/** Tests reads of objects for every driver. `open` returns an empty store that is removed after the test. */
export function objectReadConformance(open: (t: TestContext) => Promise<ObjectStore>): void {
  describe("read", () => {
    test("reads any range, like slice(), from independent streams", async (t) => {
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

    test("returns the same version while the bytes stay the same, and another one for different bytes of the same length", async (t) => {
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

    test("rejects a read after the object was replaced or deleted, and never mixes two objects", async (t) => {
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

    test("returns undefined for a missing object", async (t) => {
      const store = await open(t);
      await store.put("a/b", Buffer.alloc(1));
      for (const key of ["b", "a", "a/c", "a/b/c", "x/y/z"]) assert.equal(await store.open(key), undefined, key);
    });
  });

  describe("file()", () => {
    test("returns a path at which another program can read the bytes", async (t) => {
      const store = await open(t);
      await store.put("a/1", Buffer.from("bytes"));
      assert.equal(readFileSync((await store.file("a/1"))!, "utf8"), "bytes");
      assert.equal(await store.file("a/2"), undefined);
    });
  });
}
