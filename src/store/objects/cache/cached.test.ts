import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { mountSmallDisk } from "../../../../test/support/small-disk.ts";
import { createMetrics } from "../../../kernel/metrics.ts";
import { isStoreError } from "../../errors.ts";
import { cachedObjects, type ObjectCacheOptions } from "./cached.ts";
import { openFsObjects } from "../fs/fs.ts";
import { objectKeysConformance } from "../objects-keys.conformance.ts";
import { objectPartialConformance } from "../objects-partial.conformance.ts";
import { objectPutConformance } from "../objects-put.conformance.ts";
import { objectReadConformance } from "../objects-read.conformance.ts";
import { pieces } from "../objects.testing.ts";
import type { ObjectStore } from "../port.ts";

const MIB = 1024 * 1024;

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-cache-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Wraps a store and counts reads of objects, as if they were requests to a remote store. */
function remoteIn(store: ObjectStore) {
  const calls = { opens: 0, reads: 0 };
  const remote: ObjectStore = {
    ...store,
    async open(key) {
      calls.opens++;
      const object = await store.open(key);
      return (
        object && {
          size: object.size,
          ...(object.version !== undefined && { version: object.version }),
          read(range) {
            calls.reads++;
            return object.read(range);
          },
          bytes: () => object.bytes(),
        }
      );
    },
  };
  return { remote, calls };
}

async function open(t: TestContext, options: Partial<ObjectCacheOptions> = {}) {
  const folder = temporary(t);
  const store = await openFsObjects({ folder: join(folder, "remote") });
  const { remote, calls } = remoteIn(store);
  const dir = join(folder, "cache");
  const metrics = createMetrics({ processMetrics: false });
  const warnings: unknown[] = [];
  const settings: ObjectCacheOptions = {
    dir,
    maxBytes: 64 * MIB,
    metrics,
    log: { warn: (...args: unknown[]) => void warnings.push(args) } as never,
    ...options,
  };
  const value = async (name: string, result?: string) =>
    (await metrics.registry.getSingleMetric(name)!.get()).values.find(
      ({ labels }) => result === undefined || labels["result"] === result,
    )?.value ?? 0;
  return {
    cached: cachedObjects(remote, settings),
    again: (more: Partial<ObjectCacheOptions> = {}) => {
      const { metrics: _, ...rest } = settings;
      return cachedObjects(remote, { ...rest, ...more });
    },
    store,
    dir,
    calls,
    warnings,
    requests: (result: "hit" | "miss" | "bypass") => value("reelpost_object_cache_requests_total", result),
    evictions: () => value("reelpost_object_cache_evictions_total"),
    bytes: () => value("reelpost_object_cache_bytes"),
  };
}

const filesIn = (dir: string) => readdirSync(dir).filter((name) => name !== "boot");
const bytesIn = (dir: string) => filesIn(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);

describe("objects of a remote store with a local cache", () => {
  const openStore = async (t: TestContext) => (await open(t)).cached;
  objectPutConformance(openStore);
  objectReadConformance(openStore);
  objectPartialConformance(openStore);
  objectKeysConformance(openStore);
});

describe("the local cache", () => {
  test("returns what this process has stored without reading it from the remote store", async (t) => {
    const { cached, calls, store } = await open(t);
    const bytes = randomBytes(300_000);
    await cached.put("bytes", bytes);
    await cached.put("stream", pieces(bytes, 10_000));
    const file = join(temporary(t), "file");
    writeFileSync(file, bytes);
    await cached.putFile("file", file);
    await cached.copy("bytes", "copy");
    for (const key of ["bytes", "stream", "file", "copy"]) {
      assert.deepEqual(await (await cached.open(key))!.bytes(), bytes, key);
      assert.deepEqual(await (await store.open(key))!.bytes(), bytes, key);
    }
    assert.equal(calls.reads, 0);
  });

  test("downloads an object once, even for concurrent requests, and then reads it from the disk", async (t) => {
    const { cached, calls, store, requests } = await open(t);
    const bytes = randomBytes(3 * MIB);
    await store.put("a", bytes);
    const all = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const object = (await cached.open("a"))!;
        return n % 2 === 0 ? object.bytes() : buffer(object.read({ start: 0 }));
      }),
    );
    for (const one of all) assert.equal(Buffer.compare(one, bytes), 0);
    assert.equal(calls.reads, 1);
    const opens = calls.opens;
    const object = (await cached.open("a"))!;
    assert.equal(Buffer.compare(await buffer(object.read({ start: 5, end: 9 })), bytes.subarray(5, 10)), 0);
    const reader = object.reader!();
    const into = Buffer.alloc(1000);
    assert.equal(reader.read(into, 2_000_000), 1000, "reads of a cached object are synchronous");
    assert.equal(Buffer.compare(into, bytes.subarray(2_000_000, 2_001_000)), 0);
    reader.close();
    assert.equal(calls.reads, 1);
    assert.equal(calls.opens, opens);
    assert.ok((await requests("hit")) >= 1);
    assert.ok((await requests("miss")) >= 1);
  });

  test("downloads only the blocks of a large object that are read", async (t) => {
    const { cached, calls, store, dir } = await open(t, { maxWholeBytes: 100_000, blockBytes: 100_000 });
    const bytes = randomBytes(1_000_050);
    await store.put("large", bytes);
    const object = (await cached.open("large"))!;
    const range = async (start: number, end: number) => buffer(object.read({ start, end }));
    assert.equal(Buffer.compare(await range(150_000, 150_009), bytes.subarray(150_000, 150_010)), 0);
    assert.equal(calls.reads, 1);
    assert.equal(bytesIn(dir), 100_000);
    assert.equal(Buffer.compare(await range(199_990, 200_009), bytes.subarray(199_990, 200_010)), 0);
    assert.equal(calls.reads, 2);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(300_000), async (start, length) => {
        const end = Math.min(bytes.length - 1, start + length);
        assert.equal(Buffer.compare(await range(start, end), bytes.subarray(start, end + 1)), 0);
        const reader = object.reader!();
        const into = Buffer.alloc(50_000);
        const count = await reader.read(into, start);
        reader.close();
        assert.equal(Buffer.compare(into.subarray(0, count), bytes.subarray(start, start + count)), 0);
      }),
      { numRuns: 30 },
    );
    assert.ok(calls.reads <= 11, `${calls.reads} reads of 11 blocks`);
    assert.equal(Buffer.compare(await object.bytes(), bytes), 0);
  });

  test("leasing a large object downloads it with several requests, and pins it", async (t) => {
    const { cached, calls, store, again } = await open(t, { maxBytes: 45 * MIB });
    const bytes = randomBytes(40 * MIB);
    await store.put("large", bytes);
    const [first, second] = await Promise.all([cached.leaseFile("large"), cached.leaseFile("large")]);
    assert.equal(first!.path, second!.path);
    assert.equal(calls.reads, 5);
    for (let n = 0; n < 3; n++) await cached.put(`other/${n}`, Buffer.alloc(4 * MIB));
    first!.release();
    assert.equal(Buffer.compare(readFileSync(second!.path), bytes), 0);
    await cached.delete(["large"]);
    assert.equal(Buffer.compare(readFileSync(second!.path), bytes), 0);
    second!.release();
    assert.equal(existsSync(second!.path), false);
    assert.equal(await again().leaseFile("large"), undefined);
  });

  test("bypasses the cache for an object that does not fit next to the pinned files", async (t) => {
    const { cached, store, requests, warnings } = await open(t, { maxBytes: 300_000 });
    await store.put("pinned", randomBytes(200_000));
    const bytes = randomBytes(150_000);
    await store.put("a", bytes);
    const pinned = (await cached.leaseFile("pinned"))!;
    const lease = (await cached.leaseFile("a"))!;
    assert.equal(Buffer.compare(readFileSync(lease.path), bytes), 0);
    assert.equal(Buffer.compare(await (await cached.open("a"))!.bytes(), bytes), 0);
    assert.equal(await requests("bypass"), 2);
    assert.equal(warnings.length, 1, "one warning a minute");
    lease.release();
    pinned.release();
    assert.equal(Buffer.compare(await (await cached.open("a"))!.bytes(), bytes), 0);
    assert.equal(await requests("bypass"), 2);
  });

  test("never exceeds its maximum size, keeps pinned files, and evicts the least recently used files", async (t) => {
    const maxBytes = 50_000;
    const keys = Array.from({ length: 12 }, (_, n) => `k/${n}`);
    const { store, again, dir } = await open(t, { maxBytes });
    const contents = new Map(keys.map((key, n) => [key, randomBytes(2_000 + 1_500 * n)]));
    for (const [key, bytes] of contents) await store.put(key, bytes);
    const step = fc.record({
      key: fc.constantFrom(...keys),
      what: fc.constantFrom("read", "lease", "release", "range"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        rmSync(dir, { recursive: true, force: true });
        const cached = again();
        const leases: { key: string; path: string; release(): void }[] = [];
        for (const { key, what } of steps) {
          const bytes = contents.get(key)!;
          if (what === "read") assert.equal(Buffer.compare(await (await cached.open(key))!.bytes(), bytes), 0);
          if (what === "range")
            assert.equal(
              Buffer.compare(
                await buffer((await cached.open(key))!.read({ start: 10, end: 99 })),
                bytes.subarray(10, 100),
              ),
              0,
            );
          if (what === "lease" && leases.length < 4) leases.push({ key, ...(await cached.leaseFile(key))! });
          if (what === "release") leases.shift()?.release();
          assert.ok(bytesIn(dir) <= maxBytes, `${bytesIn(dir)} bytes on disk`);
          for (const { key: leased, path } of leases)
            assert.equal(Buffer.compare(readFileSync(path), contents.get(leased)!), 0, `${leased} is pinned`);
        }
        for (const { release } of leases) release();
        assert.ok(filesIn(dir).every((name) => !name.startsWith("tmp-")));
      }),
      { numRuns: 40 },
    );
  });

  test("evicts an object that was read earlier before one that was read recently", async (t) => {
    const { cached, store, calls, evictions, bytes } = await open(t, { maxBytes: 30_000 });
    for (const key of ["a", "b", "c", "d"]) await store.put(key, randomBytes(9_000));
    const read = async (key: string) => (await cached.open(key))!.bytes();
    for (const key of ["a", "b", "c"]) await read(key);
    await read("a");
    await read("d");
    assert.equal(await evictions(), 1);
    const before = calls.reads;
    for (const key of ["a", "c", "d"]) await read(key);
    assert.equal(calls.reads, before);
    assert.equal(await bytes(), 27_000);
    await read("b");
    assert.equal(calls.reads, before + 1);
  });

  test("keeps its files across a restart, and deletes damaged, partial and unknown ones", async (t) => {
    const { cached, store, again, dir, calls } = await open(t);
    const contents = new Map(["a", "b", "c"].map((key) => [key, randomBytes(10_000)]));
    for (const [key, bytes] of contents) await store.put(key, bytes);
    for (const key of contents.keys()) await (await cached.open(key))!.bytes();
    const names = filesIn(dir);
    truncateSync(join(dir, names[0]!), 9_999);
    writeFileSync(join(dir, "tmp-7"), "part of a download");
    writeFileSync(join(dir, "stray"), "");
    const restarted = again();
    assert.deepEqual(filesIn(dir).sort(), names.slice(1).sort());
    const before = calls.reads;
    for (const [key, bytes] of contents)
      assert.equal(Buffer.compare(await (await restarted.open(key))!.bytes(), bytes), 0, key);
    assert.equal(calls.reads, before + 1);
    again({ maxBytes: 10_000 });
    assert.equal(bytesIn(dir), 10_000, "a smaller limit applies from the next start");
  });

  test("is cleared when the machine has restarted, because files may not have reached the disk", async (t) => {
    const { cached, store, dir, again } = await open(t);
    await store.put("a", randomBytes(1000));
    await (await cached.open("a"))!.bytes();
    writeFileSync(join(dir, "boot"), "an earlier start");
    again();
    assert.deepEqual(filesIn(dir), []);
  });

  test("downloads a file again that has disappeared", async (t) => {
    const { cached, store, dir } = await open(t);
    const bytes = randomBytes(1000);
    await store.put("a", bytes);
    const object = (await cached.open("a"))!;
    await object.bytes();
    for (const name of filesIn(dir)) rmSync(join(dir, name));
    assert.deepEqual(await object.bytes(), bytes);
    for (const name of filesIn(dir)) rmSync(join(dir, name));
    assert.deepEqual(await (await cached.open("a"))!.bytes(), bytes);
  });

  test("serves requests while the cache folder is not writable", async (t) => {
    const folder = temporary(t);
    writeFileSync(join(folder, "file"), "");
    const { cached, store, requests } = await open(t, { dir: join(folder, "file", "cache") });
    const bytes = randomBytes(100_000);
    await cached.put("bytes", bytes);
    await cached.put("stream", pieces(bytes, 1000));
    await store.put("remote", bytes);
    for (const key of ["bytes", "stream", "remote"]) {
      const object = (await cached.open(key))!;
      assert.deepEqual(await object.bytes(), bytes);
      assert.deepEqual(await buffer(object.read({ start: 7, end: 70 })), bytes.subarray(7, 71));
      const reader = object.reader!();
      const into = Buffer.alloc(500);
      assert.equal(await reader.read(into, 99_000), 500);
      assert.deepEqual(into, bytes.subarray(99_000, 99_500));
      reader.close();
      const lease = (await cached.leaseFile(key))!;
      assert.deepEqual(readFileSync(lease.path), bytes);
      lease.release();
    }
    assert.ok((await requests("bypass")) >= 12);
  });

  test("serves requests while the disk is full, and caches objects again once there is space", async (t) => {
    const disk = mountSmallDisk(t, 8);
    if (disk === undefined) return t.skip("cannot mount a small disk here");
    const { cached, store, requests } = await open(t, { dir: join(disk.folder, "cache") });
    const bytes = randomBytes(2 * MIB);
    await store.put("a", bytes);
    await store.put("b", bytes);
    disk.fill();
    await cached.put("bytes", bytes);
    await cached.put("stream", pieces(bytes, 100_000));
    for (const key of ["a", "bytes", "stream"]) {
      assert.equal(Buffer.compare(await (await cached.open(key))!.bytes(), bytes), 0, key);
      const lease = (await cached.leaseFile(key))!;
      assert.equal(Buffer.compare(readFileSync(lease.path), bytes), 0, key);
      lease.release();
    }
    assert.equal(await requests("bypass"), 6);
    disk.free();
    assert.deepEqual(filesIn(join(disk.folder, "cache")), [], "no incomplete file is left");
    for (const key of ["a", "b"]) assert.equal(Buffer.compare(await (await cached.open(key))!.bytes(), bytes), 0);
    assert.equal(filesIn(join(disk.folder, "cache")).length, 2);
    assert.equal(await requests("bypass"), 6);
  });

  test("rejects a download that ends early, and leaves no file", async (t) => {
    const { store, dir } = await open(t);
    await store.put("a", randomBytes(10_000));
    let isTruncated = true;
    const cached = cachedObjects(
      {
        ...store,
        async open(key) {
          const object = (await store.open(key))!;
          return { ...object, read: (range) => object.read(isTruncated ? { start: range!.start, end: 99 } : range) };
        },
      },
      { dir, maxBytes: MIB },
    );
    const object = (await cached.open("a"))!;
    await assert.rejects(object.bytes(), /returned 100 of 10000 bytes/);
    assert.deepEqual(filesIn(dir), []);
    isTruncated = false;
    assert.equal((await object.bytes()).length, 10_000);
  });

  test("does not cache an object that is deleted during its download", async (t) => {
    const { store, dir } = await open(t);
    const bytes = randomBytes(10_000);
    await store.put("a", bytes);
    const reading = Promise.withResolvers<void>();
    const deleted = Promise.withResolvers<void>();
    const cached = cachedObjects(
      {
        ...store,
        async open(key) {
          const object = await store.open(key);
          if (object === undefined) return undefined;
          return {
            ...object,
            read: (range) => {
              const source = object.read(range);
              return (async function* () {
                for await (const chunk of source) {
                  reading.resolve();
                  await deleted.promise;
                  yield chunk;
                }
              })() as never;
            },
          };
        },
      },
      { dir, maxBytes: MIB },
    );
    const result = (await cached.open("a"))!.bytes();
    await reading.promise;
    await cached.delete(["a"]);
    deleted.resolve();
    await assert.rejects(result, (err) => isStoreError(err, "objectChanged"));
    assert.deepEqual(filesIn(dir), []);
    assert.equal(await cached.open("a"), undefined);
  });

  test("returns only complete objects after its process has been killed", { timeout: 120_000 }, async (t) => {
    const folder = temporary(t);
    const remote = await openFsObjects({ folder: join(folder, "remote") });
    const contents = new Map<string, Buffer>();
    for (let n = 0; n < 20; n++) {
      const bytes = randomBytes(50_000 + n * 40_000);
      contents.set(`k/${n}`, bytes);
      await remote.put(`k/${n}`, bytes);
    }
    const options = { dir: join(folder, "cache"), maxBytes: 6_000_000, maxWholeBytes: 400_000, blockBytes: 100_000 };
    for (let kill = 0; kill < 5; kill++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, "cached.child.ts"), join(folder, "remote"), JSON.stringify(options)],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      // The child prints a line for each object that it has read.
      for (let reads = 0; reads < 5 + 7 * kill; reads++) await once(child.stdout, "data");
      child.kill("SIGKILL");
      await once(child, "exit");
      const cached = cachedObjects(remote, options);
      assert.ok(bytesIn(options.dir) <= options.maxBytes);
      assert.ok(filesIn(options.dir).every((name) => !name.startsWith("tmp-")));
      for (const [key, bytes] of contents) {
        assert.equal(Buffer.compare(await (await cached.open(key))!.bytes(), bytes), 0, key);
        const lease = (await cached.leaseFile(key))!;
        assert.equal(Buffer.compare(readFileSync(lease.path), bytes), 0, key);
        lease.release();
      }
    }
  });
});
