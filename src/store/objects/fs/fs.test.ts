import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import { isStoreError } from "../../errors.ts";
import { openFsObjects } from "./fs.ts";
import { objectKeysConformance } from "../objects-keys.conformance.ts";
import { objectPartialConformance } from "../objects-partial.conformance.ts";
import { objectPutConformance } from "../objects-put.conformance.ts";
import { objectReadConformance } from "../objects-read.conformance.ts";

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-objects-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("objects in a folder", () => {
  const open = (t: TestContext) => openFsObjects({ folder: temporary(t) });
  objectPutConformance(open);
  objectReadConformance(open, { leasesOutliveObjects: false });
  objectPartialConformance(open);
  objectKeysConformance(open);

  test("are readable only by their owner, and leave no temp file", async (t) => {
    const folder = join(temporary(t), "new", "folder");
    const store = await openFsObjects({ folder });
    await store.put("a/b", Buffer.alloc(10));
    assert.equal(statSync(join(folder, "a/b")).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "a")).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(join(folder, ".tmp")), []);
  });

  test("reject a read after they were replaced or deleted", async (t) => {
    const store = await openFsObjects({ folder: temporary(t) });
    const changed = (err: unknown) => isStoreError(err, "objectChanged");
    for (const change of [() => store.put("a", Buffer.from("new bytes")), () => store.delete(["a"])]) {
      await store.put("a", Buffer.alloc(200_000));
      const object = (await store.open("a"))!;
      await change();
      await assert.rejects(object.bytes(), changed);
      await assert.rejects(buffer(object.read()), changed);
      await assert.rejects(buffer(object.read({ start: 3, end: 5 })), changed);
    }
  });

  test("a key cannot be the folder of another key", async (t) => {
    const folder = temporary(t);
    const store = await openFsObjects({ folder });
    await store.put("a/b", Buffer.alloc(1));
    for (const key of ["a", "a/b/c", "a/b/c/d"])
      await assert.rejects(store.put(key, Buffer.alloc(1)), (err) => isStoreError(err, "keyInUse"), key);
    assert.deepEqual(readdirSync(join(folder, ".tmp")), []);
    assert.equal((await store.open("a/b"))?.size, 1);
  });

  test("the sweep at start deletes .tmp files of dead processes, but not those of running ones", async (t) => {
    const folder = temporary(t);
    const tmp = join(folder, ".tmp");
    mkdirSync(tmp);
    const host = hostname().replace(/[^A-Za-z0-9-]/g, "-") || "host";
    const leave = (name: string, ageHours = 0) => {
      writeFileSync(join(tmp, name), "part");
      const then = Date.now() / 1000 - ageHours * 3600;
      utimesSync(join(tmp, name), then, then);
      return name;
    };
    const kept = [
      leave(`${host}.${process.ppid}.run.1`),
      leave(`elsewhere.1.run.1`, 1),
      leave(`${host}.${process.pid}.other.1`),
    ];
    leave(`${host}.4194999.run.1`); // Above the largest pid on Linux.
    leave(`${host}.${process.pid}.earlier.1`, 2);
    leave("elsewhere.1.run.2", 25);
    leave("stray", 25);
    await openFsObjects({ folder });
    assert.deepEqual(readdirSync(tmp).sort(), kept.sort());
  });

  test("require a usable folder, and the error states the reason", async (t) => {
    const file = join(temporary(t), "file");
    writeFileSync(file, "");
    for (const folder of [file, join(file, "below")]) {
      await assert.rejects(
        openFsObjects({ folder }),
        (err) => isStoreError(err, "cannotOpen") && err.message.includes(folder),
      );
    }
  });

  test("are stored even if another process removed their folder", async (t) => {
    const folder = temporary(t);
    const store = await openFsObjects({ folder });
    await store.put("a/b/1", Buffer.alloc(1));
    rmSync(join(folder, "a"), { recursive: true });
    await store.put("a/b/2", Buffer.alloc(1));
    assert.ok(existsSync(join(folder, "a/b/2")));
  });

  test("leave no empty folder behind, unless it was used recently", async (t) => {
    const folder = temporary(t);
    await (await openFsObjects({ folder })).put("old/deep/1", Buffer.alloc(1));
    const store = await openFsObjects({ folder });
    await store.put("hot/1", Buffer.alloc(1));
    await store.delete(["old/deep/1", "hot/1"]);
    assert.deepEqual(readdirSync(folder).sort(), [".tmp", "hot"]);
  });

  test("are kept when the empty folders under a prefix are removed, even recently used ones", async (t) => {
    const folder = temporary(t);
    const store = await openFsObjects({ folder });
    await store.put("v/1/360p/0", Buffer.alloc(1));
    await store.put("v/1/tracks/a/source", Buffer.alloc(1));
    await store.put("v/2/source", Buffer.alloc(1));
    await store.delete(["v/1/360p/0", "v/1/tracks/a/source"]);
    await store.removeEmptyFolders("v/1/");
    await store.removeEmptyFolders("v/2/");
    await store.removeEmptyFolders("v/3/");
    assert.deepEqual(readdirSync(join(folder, "v")), ["2"]);
    await store.put("v/1/360p/0", Buffer.alloc(1));
    assert.deepEqual(readdirSync(join(folder, "v/1")), ["360p"]);
  });

  test(
    "leave no file descriptor open",
    { skip: !existsSync("/proc/self/fd") && "no /proc here", timeout: 60_000 },
    async (t) => {
      const store = await openFsObjects({ folder: temporary(t) });
      const openFiles = () => readdirSync("/proc/self/fd").length;
      await store.put("a", Buffer.alloc(3_000_000));
      const before = openFiles();
      for (let n = 0; n < 20; n++) {
        const object = (await store.open("a"))!;
        await object.bytes();
        const stream = object.read();
        for await (const _ of stream) break;
        await store
          .put(
            "b",
            (async function* () {
              yield Buffer.alloc(1);
              throw new Error("source");
            })(),
          )
          .catch(() => {});
      }
      // An abandoned stream closes its file slightly later; if a descriptor leaks, this test times out.
      while (openFiles() > before) await new Promise((resolve) => setImmediate(resolve));
    },
  );
});

test("an append that waits for more data holds less than 300 KB", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-partial-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openFsObjects({ folder });
  const piece = Buffer.alloc(48 * 1024, 1);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const count = 20;
  const isWaiting: Promise<void>[] = [];
  const before = process.memoryUsage().arrayBuffers;
  const appends = Array.from({ length: count }, (_, n) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    isWaiting.push(promise);
    async function* body() {
      for (let i = 0; i < 30; i++) yield piece;
      resolve();
      await released;
    }
    return store.partial(`upload/${n}`).append(0, body());
  });
  await Promise.all(isWaiting);
  const held = (process.memoryUsage().arrayBuffers - before) / count;
  release();
  assert.deepEqual(await Promise.all(appends), Array(count).fill(30 * piece.length));
  assert.ok(held < 300 * 1024, `${Math.round(held / 1024)} KB`);
});

test("detects that an object was replaced by one of the same size and mtime", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-same-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openFsObjects({ folder });
  const at = new Date(2026, 0, 1);
  await store.put("a", Buffer.from("one"));
  utimesSync(join(folder, "a"), at, at);
  const opened = (await store.open("a"))!;
  await store.put("a", Buffer.from("two"));
  utimesSync(join(folder, "a"), at, at);
  await assert.rejects(opened.bytes(), { kind: "objectChanged" });
});
