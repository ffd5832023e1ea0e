import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { openFsObjects } from "../fs/fs.ts";
import { pieces } from "../objects.testing.ts";
import type { ObjectStore } from "../port.ts";
import { cachedObjects } from "./cached.ts";

const MIB = 1024 * 1024;

/** Opens a store whose reads are counted, and the same store with a local cache of this size. */
async function open(t: TestContext, { maxBytes = 64 * MIB }: { maxBytes?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-copies-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openFsObjects({ folder: join(folder, "remote") });
  let reads = 0;
  let isFailing = false;
  const remote: ObjectStore = {
    ...store,
    partial(key) {
      const partial = store.partial(key);
      return {
        ...partial,
        async append(offset, body) {
          if (!isFailing) return partial.append(offset, body);
          for await (const _ of body);
          throw new Error("the store did not respond");
        },
      };
    },
    async open(key) {
      const object = await store.open(key);
      if (object === undefined) return undefined;
      const { size, version } = object;
      const read = (range?: { start: number; end?: number }) => {
        reads++;
        return object.read(range);
      };
      return { size, ...(version !== undefined && { version }), read, bytes: () => object.bytes() };
    },
  };
  const dir = join(folder, "cache");
  const cached = cachedObjects(remote, { dir, maxBytes });
  const cachedBytes = () =>
    readdirSync(dir)
      .filter((name) => name !== "boot")
      .reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  const failAppends = (fails: boolean) => void (isFailing = fails);
  return { store, cached, reads: () => reads, cachedBytes, failAppends };
}

async function leased(objects: ObjectStore, key: string): Promise<void> {
  const lease = await objects.leaseFile(key);
  assert.ok(lease);
  lease.release();
}

const equals = async (objects: ObjectStore, key: string, bytes: Buffer) =>
  assert.equal(Buffer.compare(await (await objects.open(key))!.bytes(), bytes), 0);

describe("local copies of partial objects", () => {
  test("serve the first reader without a download, even after an interrupted append", async (t) => {
    const { cached, reads } = await open(t);
    const bytes = randomBytes(6 * MIB);
    async function* interrupted() {
      yield bytes.subarray(2 * MIB, 3 * MIB);
      throw new Error("the client disconnected");
    }
    assert.equal(await cached.partial("a").append(0, pieces(bytes.subarray(0, 2 * MIB), 100_000)), 2 * MIB);
    await assert.rejects(cached.partial("a").append(2 * MIB, interrupted()), /the client disconnected/);
    const offset = await cached.partial("a").size();
    assert.equal(offset, 3 * MIB);
    await cached.partial("a").append(offset, pieces(bytes.subarray(offset), 100_000));
    await cached.partial("a").complete(bytes.length);
    await leased(cached, "a");
    await equals(cached, "a", bytes);
    assert.equal(reads(), 0);
  });

  test("are not used if another process has appended a part", async (t) => {
    const { cached, store, reads } = await open(t);
    const bytes = randomBytes(3 * MIB);
    const part = (n: number) => pieces(bytes.subarray(n * MIB, (n + 1) * MIB), 100_000);
    await cached.partial("a").append(0, part(0));
    await store.partial("a").append(MIB, part(1));
    await cached.partial("a").append(2 * MIB, part(2));
    await cached.partial("a").complete(bytes.length);
    await leased(cached, "a");
    assert.ok(reads() > 0);
    await equals(cached, "a", bytes);
  });

  test("are not used if the store received bytes but did not persist them", async (t) => {
    const { cached, store, reads, failAppends } = await open(t);
    const [lost, bytes] = [randomBytes(2 * MIB), randomBytes(2 * MIB)];
    failAppends(true);
    await assert.rejects(cached.partial("a").append(0, pieces(lost, 100_000)), /the store did not respond/);
    failAppends(false);
    await store.partial("a").append(0, pieces(bytes, 100_000));
    await cached.partial("a").complete(bytes.length);
    await leased(cached, "a");
    assert.ok(reads() > 0);
    await equals(cached, "a", bytes);
  });

  test("use at most half of the cache, and are deleted with their object", async (t) => {
    const { cached, cachedBytes } = await open(t, { maxBytes: 8 * MIB });
    const bytes = randomBytes(5 * MIB);
    // The second copy evicts the first one, and the third one is too large.
    await cached.partial("a").append(0, pieces(bytes.subarray(0, 3 * MIB), 100_000));
    await cached.partial("b").append(0, pieces(bytes.subarray(0, 2 * MIB), 100_000));
    assert.equal(cachedBytes(), 2 * MIB);
    await cached.partial("b").discard();
    assert.equal(cachedBytes(), 0);
    await cached.partial("c").append(0, pieces(bytes, 100_000));
    assert.equal(cachedBytes(), 0);
    await cached.partial("c").complete(bytes.length);
    await equals(cached, "c", bytes);
  });
});
