import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import type { ObjectStore } from "./port.ts";
import { keysOf, pieces, read } from "./objects.testing.ts";

/**
 * Tests objects that grow in chunks for every `ObjectStore` driver. `open` returns an empty store that is removed after
 * the test.
 */
export function objectPartialConformance(open: (t: TestContext) => Promise<ObjectStore>): void {
  describe("partial uploads", () => {
    test("grow in chunks of any size, even after another process takes over, and become visible when completed", async (t) => {
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

    test("keep the data received before a source error, and pass on the error", async (t) => {
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

    test("accept appends only at their end, and completion only at their exact size, which can be retried", async (t) => {
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

    test("disappear when discarded, and do not affect an object with the same key", async (t) => {
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
}
