import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import { withLeasedFiles } from "./leased-files.ts";
import type { ObjectStore } from "./port.ts";

interface ReadTraits {
  /** True if the path of a leased file stays valid after the object is deleted. Default true; false for a folder. */
  leasesOutliveObjects?: boolean;
}

/** Tests reads of objects for every driver. `open` returns an empty store that is removed after the test. */
export function objectReadConformance(
  open: (t: TestContext) => Promise<ObjectStore>,
  { leasesOutliveObjects = true }: ReadTraits = {},
): void {
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
      if (reader === undefined) return;
      const into = Buffer.alloc(100_000);
      const parts: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const count = await reader.read(into, at);
        parts.push(Buffer.from(into.subarray(0, count)));
        at += count;
      }
      assert.equal(Buffer.compare(Buffer.concat(parts), bytes), 0);
      await assert.rejects(async () => reader.read(into, bytes.length));
      reader.close();
    });

    test("a reader of a replaced object returns the old bytes or rejects, and never returns the new bytes", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(700_000);
      await store.put("a", bytes);
      const object = (await store.open("a"))!;
      const reader = object.reader?.();
      // Drivers without reader() are covered by the tests of streams.
      if (reader === undefined) return;
      const isChanged = (err: unknown) => isStoreError(err, "objectChanged");
      await store.put("a", randomBytes(700_000));
      const into = Buffer.alloc(100_000);
      for (const openReader of [() => reader, () => object.reader!()]) {
        try {
          const late = openReader();
          const count = await late.read(into, 0);
          late.close();
          assert.equal(Buffer.compare(into.subarray(0, count), bytes.subarray(0, count)), 0);
        } catch (err) {
          assert.ok(isChanged(err), String(err));
        }
      }
    });

    test("returns the same version while the bytes stay the same, and another one for different bytes of the same length", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.alloc(10, 1));
      const version = async () => (await store.open("a"))!.version;
      const before = await version();
      if (before === undefined) return;
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

    test("never mixes the bytes of two objects if one is replaced or deleted between open and read", async (t) => {
      const store = await open(t);
      const old = Buffer.alloc(600_000, 1);
      for (const change of [() => store.put("a", Buffer.alloc(600_000, 2)), () => store.delete(["a"])]) {
        await store.put("a", old);
        const object = (await store.open("a"))!;
        await change();
        const reads = [
          { read: () => object.bytes(), expected: old },
          { read: () => buffer(object.read()), expected: old },
          { read: () => buffer(object.read({ start: 3, end: 5 })), expected: old.subarray(3, 6) },
        ];
        for (const { read, expected } of reads) {
          // A driver whose open() has already read the first bytes may return them.
          const found = await read().catch((err: unknown) => {
            if (!isStoreError(err, "objectChanged")) throw err;
            return undefined;
          });
          if (found !== undefined) assert.equal(Buffer.compare(found, expected), 0);
        }
        await assert.rejects(object.bytes(), (err) => isStoreError(err, "objectChanged"));
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

  describe("leaseFile()", () => {
    test("returns a path at which another program can read the bytes", async (t) => {
      const store = await open(t);
      await store.put("a/1", Buffer.from("bytes"));
      const lease = (await store.leaseFile("a/1"))!;
      assert.equal(execFileSync("cat", [lease.path], { encoding: "utf8" }), "bytes");
      lease.release();
      lease.release();
      assert.equal(await store.leaseFile("a/2"), undefined);
      await assert.rejects(store.leaseFile("../a"), (err) => isStoreError(err, "badKey"));
    });

    test("releases each lease separately", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(300_000);
      await store.put("a", bytes);
      const [first, second] = [(await store.leaseFile("a"))!, (await store.leaseFile("a"))!];
      first.release();
      first.release();
      assert.equal(Buffer.compare(readFileSync(second.path), bytes), 0);
      second.release();
      const third = (await store.leaseFile("a"))!;
      assert.equal(Buffer.compare(readFileSync(third.path), bytes), 0);
      third.release();
    });

    test("a program that has opened the file can still read its bytes after a deletion", async (t) => {
      const store = await open(t);
      const bytes = randomBytes(300_000);
      await store.put("a", bytes);
      const lease = (await store.leaseFile("a"))!;
      const fd = openSync(lease.path, "r");
      try {
        await store.delete(["a"]);
        assert.equal(await store.leaseFile("a"), undefined);
        assert.equal(Buffer.compare(readFileSync(fd), bytes), 0);
        if (leasesOutliveObjects) assert.equal(Buffer.compare(readFileSync(lease.path), bytes), 0);
        else assert.equal(existsSync(lease.path), false);
      } finally {
        closeSync(fd);
        lease.release();
      }
    });
  });

  describe("withLeasedFiles()", () => {
    test("passes the paths to the callback, and releases all files if the callback or a lease fails", async (t) => {
      const store = await open(t);
      await store.put("a", Buffer.from("one"));
      await store.put("b", Buffer.from("two"));
      let leased = 0;
      const counted: Pick<ObjectStore, "leaseFile"> = {
        async leaseFile(key) {
          if (key === "broken") throw new Error("unreachable");
          const lease = await store.leaseFile(key);
          if (lease === undefined) return undefined;
          leased++;
          return { path: lease.path, release: () => void (leased--, lease.release()) };
        },
      };
      const texts = await withLeasedFiles(counted, ["a", "absent", "b"], async (paths) => {
        assert.equal(leased, 2);
        return paths.map((path) => path && readFileSync(path, "utf8"));
      });
      assert.deepEqual(texts, ["one", undefined, "two"]);
      const failing = withLeasedFiles(counted, ["a"], () => Promise.reject(new Error("failed")));
      await assert.rejects(failing, /failed/);
      await assert.rejects(
        withLeasedFiles(counted, ["a", "broken"], async () => {}),
        /unreachable/,
      );
      assert.equal(leased, 0);
    });
  });
}
