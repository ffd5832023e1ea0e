import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import { isStoreError } from "../errors.ts";
import type { ObjectStore } from "./port.ts";
import { keysOf, read, sha256 } from "./objects.testing.ts";

/** Tests writes of whole objects for every driver. `open` returns an empty store that is removed after the test. */
export function objectPutConformance(open: (t: TestContext) => Promise<ObjectStore>): void {
  describe("putFile", () => {
    test("stores the bytes of a file, and keeps them when the file is deleted", async (t) => {
      const store = await open(t);
      const folder = await mkdtemp(join(tmpdir(), "reelpost-put-file-"));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const file = join(folder, "file");
      const bytes = randomBytes(100_000);
      await writeFile(file, bytes, { mode: 0o600 });
      await store.put("a/1", Buffer.from("before"));
      await store.putFile("a/1", file);
      await store.putFile("a/1", file, { durable: false });
      await rm(file);
      assert.equal(Buffer.compare((await read(store, "a/1"))!, bytes), 0);
      await assert.rejects(store.putFile("a/2", file), { code: "ENOENT" });
      assert.deepEqual(await keysOf(store), ["a/1"]);
    });

    test("copies a file from another file system", async (t) => {
      // The folder of the store is in the temporary directory of the system.
      const other = await mkdtemp("/dev/shm/reelpost-").catch(() => undefined);
      if (other === undefined) return t.skip("/dev/shm is missing");
      t.after(() => rm(other, { recursive: true, force: true }));
      const store = await open(t);
      await writeFile(join(other, "file"), "bytes");
      await store.putFile("a/1", join(other, "file"));
      assert.equal(String(await read(store, "a/1")), "bytes");
    });
  });

  describe("put", () => {
    test("stores bytes and returns their size and sha256", async (t) => {
      const store = await open(t);
      for (const size of [0, 1, 4096, 65_536, 65_537, 300_000, 3_000_000]) {
        const bytes = randomBytes(size);
        const { version, ...stored } = await store.put(`kv/ns/${size}`, bytes);
        assert.deepEqual(stored, { size, sha256: sha256(bytes), digests: {} });
        const object = await store.open(`kv/ns/${size}`);
        if (version !== undefined) assert.equal(version, object?.version);
        assert.equal(object?.size, size);
        assert.equal(Buffer.compare(await object!.bytes(), bytes), 0);
        assert.equal(Buffer.compare(await buffer(object!.read()), bytes), 0);
      }
    });

    test("accepts chunks of any size from a source that reuses its buffer", async (t) => {
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

    test("makes the object visible only when complete, and applies back-pressure to its source", async (t) => {
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

    test("replaces an existing object, even without durability", async (t) => {
      const store = await open(t);
      for (const text of ["one", "three", "two"])
        await store.put("a/b", Buffer.from(text), { durable: text !== "three" });
      assert.equal(String(await read(store, "a/b")), "two");
    });

    test("with `ifAbsent`, keeps an existing object, even if several puts run at the same time", async (t) => {
      const store = await open(t);
      const first = await store.put("v/1", Buffer.from("first"), { ifAbsent: true });
      assert.deepEqual([first.isExisting, first.size], [undefined, 5]);
      const second = await store.put("v/1", Buffer.from("second"), { ifAbsent: true });
      assert.deepEqual([second.isExisting, second.size], [true, 6]);
      const streamed = await store.put("v/1", Readable.from([Buffer.from("a str"), Buffer.from("eam")]), {
        ifAbsent: true,
      });
      assert.equal(streamed.isExisting, true);
      assert.equal(String(await read(store, "v/1")), "first");
      assert.equal(
        (await store.put("v/2", Readable.from([Buffer.from("a str"), Buffer.from("eam")]), { ifAbsent: true }))
          .isExisting,
        undefined,
      );
      assert.equal(String(await read(store, "v/2")), "a stream");
      const bodies = Array.from({ length: 10 }, (_, n) => `body ${n}`);
      const results = await Promise.all(
        bodies.map((body) => store.put("v/3", Buffer.from(body), { ifAbsent: true, durable: false })),
      );
      const winners = bodies.filter((_, n) => results[n]!.isExisting === undefined);
      assert.equal(winners.length, 1);
      assert.equal(String(await read(store, "v/3")), winners[0]);
      await store.put("v/3", Buffer.from("replaced"));
      assert.equal(String(await read(store, "v/3")), "replaced");
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
}
