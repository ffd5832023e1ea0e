import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, type Clock, type UserError } from "../../../kernel/index.ts";
import { type Db, type ObjectStore } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { checkKvModel } from "./kv-model.conformance.ts";
import { createKvStore, type KvStore } from "./kv-store.ts";
import { kvMigrations } from "./kv-table.ts";
import { INLINE_BYTES, kvLimits } from "./limits.ts";

const HOUR = 3600_000;

/** Behavior of KV on every database engine. */
export function kvConformance(engine: TestEngine): void {
  describe("KV", () => {
    let db: Db;
    let objects: ObjectStore;
    let kv: KvStore;
    let clock: Clock & { advance(ms: number): void };
    let namespace = "";
    let namespaces = 0;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), "kv-"));
      ends.push(async () => rmSync(folder, { recursive: true, force: true }));
      ({ db } = await engine.open({ after: (end) => ends.push(end) }, kvMigrations));
      objects = await openWriteOnceObjects({ folder });
      clock = createManualClock(Date.now());
      kv = createKvStore({ db, objects, clock });
      ends.push(() => kv.close());
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const it = (what: string, run: () => Promise<void>) =>
      test(what, () => ((namespace = `namespace-${++namespaces}`), run()));
    const put = (key: string, value: string | Uint8Array, options?: Parameters<KvStore["put"]>[3]) =>
      kv.put(namespace, key, Buffer.from(value), options);
    const get = async (key: string, from = kv) => {
      const entry = await from.get(namespace, key);
      return entry && (entry.value instanceof Uint8Array ? Buffer.from(entry.value) : await buffer(entry.value));
    };
    const text = async (key: string) => (await get(key))?.toString();
    const names = async (options?: Parameters<KvStore["list"]>[1]) =>
      (await kv.list(namespace, options)).keys.map(({ name }) => name);
    const stored = async () => {
      await kv.close();
      const keys: string[] = [];
      for await (const { key } of objects.list(`kv/${namespace}/`)) keys.push(key);
      return keys;
    };
    const refused = (message: string) => (error: UserError) => (assert.equal(error.message, message), true);

    it("returns values byte for byte", async () => {
      const bytes = randomBytes(3000);
      await put("bytes", bytes);
      await put("empty", "");
      await put("text", "é\u{1f600}");
      assert.deepEqual(await get("bytes"), bytes);
      assert.equal(await text("empty"), "");
      assert.equal(await text("text"), "é\u{1f600}");
      assert.equal(await text("absent"), undefined);
    });

    it("a put replaces value, metadata and expiration", async () => {
      await put("k", "one", { metadata: '{"a":1}', expiresAt: clock.now() + HOUR });
      const first = (await kv.get(namespace, "k"))!;
      assert.deepEqual([first.metadata, first.expiration, first.size], ['{"a":1}', (clock.now() + HOUR) / 1000, 3]);
      await put("k", "three");
      const second = (await kv.get(namespace, "k"))!;
      assert.deepEqual([second.metadata, second.expiration, second.size], [undefined, undefined, 5]);
    });

    it("namespaces are isolated from each other", async () => {
      await put("k", "mine");
      assert.equal(await kv.get("another", "k"), undefined);
      await kv.delete("another", "k");
      assert.equal(await text("k"), "mine");
    });

    it("accepts any key of up to 512 bytes", async () => {
      const keys = [
        "a/b",
        "a b%2F?#",
        "...",
        "\u0000",
        "é",
        "\u{10ffff}",
        "'; drop table kv_entries; --",
        "x".repeat(512),
        "é".repeat(256),
        "__proto__",
      ];
      for (const key of keys) await put(key, key);
      for (const key of keys) assert.equal(await text(key), key);
      assert.deepEqual(
        await names(),
        keys
          .map((key) => Buffer.from(key))
          .sort(Buffer.compare)
          .map(String),
      );
      await assert.rejects(
        put("x".repeat(513), ""),
        refused("UTF-8 encoded length of 513 exceeds key length limit of 512."),
      );
      await assert.rejects(
        put("é".repeat(257), ""),
        refused("UTF-8 encoded length of 514 exceeds key length limit of 512."),
      );
      await assert.rejects(put("", ""), refused("Key names must not be empty"));
      await assert.rejects(put("..", ""), refused('Illegal key name "..". Please use a different name.'));
    });

    it("rejects metadata that is too long or not JSON", async () => {
      await put("k", "v", { metadata: JSON.stringify("x".repeat(1022)) });
      await assert.rejects(
        put("k", "v", { metadata: JSON.stringify("x".repeat(1023)) }),
        refused("Metadata length of 1025 exceeds limit of 1024."),
      );
      await assert.rejects(put("k", "v", { metadata: "{" }), refused("Metadata must be valid JSON"));
    });

    it("an expired key disappears everywhere within the second of its expiration", async () => {
      await put("k", "v", { expiresAt: clock.now() + 1000 });
      await put("other", "v");
      clock.advance(999);
      assert.equal(await text("k"), "v");
      clock.advance(1);
      assert.equal(await text("k"), undefined);
      assert.deepEqual(await names(), ["other"]);
      assert.equal((await kv.getMany(namespace, ["k"])).size, 0);
      await put("k", "again");
      assert.equal(await text("k"), "again");
    });

    it("lists pages in byte order, with prefix and cursor", async () => {
      // UTF-16 would sort U+FF5E after U+1F600.
      const keys = ["a", "a/", "a/1", "a/2", "a0", "b", "\uff5e", "\u{1f600}"];
      for (const key of keys.toReversed()) await put(key, "", { metadata: JSON.stringify(key) });
      assert.deepEqual(await names(), keys);
      assert.deepEqual(await names({ prefix: "a/" }), ["a/", "a/1", "a/2"]);
      assert.deepEqual(await names({ prefix: "\u{1f600}" }), ["\u{1f600}"]);
      assert.deepEqual(await names({ prefix: "nothing" }), []);

      const first = await kv.list(namespace, { prefix: "a", limit: 2 });
      assert.deepEqual(first.keys, [
        { name: "a", metadata: '"a"', expiration: undefined },
        { name: "a/", metadata: '"a/"', expiration: undefined },
      ]);
      const second = await kv.list(namespace, { prefix: "a", limit: 3, cursor: first.cursor! });
      assert.deepEqual([second.keys.map(({ name }) => name), second.cursor], [["a/1", "a/2", "a0"], undefined]);
      // The key of a cursor may be deleted in the meantime.
      await kv.delete(namespace, "a/");
      assert.deepEqual(
        (await kv.list(namespace, { prefix: "a", limit: 1, cursor: first.cursor! })).keys.map(({ name }) => name),
        ["a/1"],
      );

      await assert.rejects(
        names({ limit: 0 }),
        refused("Invalid key_count_limit of 0. Please specify an integer greater than 0."),
      );
      await assert.rejects(
        names({ limit: 1001 }),
        refused("Invalid key_count_limit of 1001. Please specify an integer less than 1000."),
      );
      await assert.rejects(names({ cursor: "not one!" }), /Invalid cursor/);
    });

    it("gets many keys in one call", async () => {
      const large = randomBytes(INLINE_BYTES + 1);
      await put("a", "1", { metadata: "[1]" });
      await put("large", large);
      const found = await kv.getMany(namespace, ["large", "absent", "a", "a"]);
      assert.deepEqual([...found.keys()].sort(), ["a", "large"]);
      assert.deepEqual(
        [found.get("a"), found.get("large")],
        [
          { value: Buffer.from("1"), metadata: "[1]", expiration: undefined },
          { value: large, metadata: undefined, expiration: undefined },
        ],
      );
      await assert.rejects(
        kv.getMany(namespace, Array(101).fill("a")),
        refused("You can request a maximum of 100 keys"),
      );
    });

    it("stores large values as objects, one per put, and deletes those of replaced and deleted values", async () => {
      const [one, two] = [randomBytes(INLINE_BYTES + 1), randomBytes(2 * INLINE_BYTES)];
      await put("at the limit", randomBytes(INLINE_BYTES));
      assert.deepEqual(await stored(), []);
      await put("k", one);
      assert.equal((await stored()).length, 1);
      assert.deepEqual(await get("k"), one);
      await put("k", two);
      assert.equal((await stored()).length, 1);
      assert.deepEqual(await get("k"), two);
      await put("k", "small");
      assert.deepEqual(await stored(), []);
      assert.equal(await text("k"), "small");
      await put("k", one);
      await kv.delete(namespace, "k");
      assert.deepEqual(await stored(), []);
      await kv.delete(namespace, "k");
    });

    it("streams values, and rejects one that exceeds the limit", async () => {
      async function* stream(chunks: number) {
        for (let i = 0; i < chunks; i++) yield Buffer.alloc(1024 * 1024, i);
      }
      await kv.put(namespace, "streamed", stream(3));
      assert.equal((await get("streamed"))!.length, 3 * 1024 * 1024);
      await assert.rejects(
        kv.put(namespace, "k", stream(27)),
        refused(`Value length of ${27 * 1024 * 1024} exceeds limit of ${kvLimits.valueBytes}.`),
      );
      await assert.rejects(
        put("k", Buffer.alloc(kvLimits.valueBytes + 1)),
        refused(`Value length of ${kvLimits.valueBytes + 1} exceeds limit of ${kvLimits.valueBytes}.`),
      );
      assert.equal(await text("k"), undefined);
      assert.equal((await stored()).length, 1);
    });

    it("concurrent puts of one key leave the value of the last row, complete, and no other object", async () => {
      const values = Array.from({ length: 12 }, (_, i) => Buffer.alloc(INLINE_BYTES + 1 + i, i));
      await Promise.all(values.map((value) => put("k", value)));
      const value = (await get("k"))!;
      assert.deepEqual(
        value,
        values.find(({ length }) => length === value.length),
      );
      assert.equal((await stored()).length, 1);
    });

    it("a reader gets a complete value while the key is rewritten", async () => {
      const values = [1, 2].map((byte) => Buffer.alloc(INLINE_BYTES * 2, byte));
      await put("k", values[0]!);
      const write = async (times: number): Promise<void> =>
        times === 0 ? undefined : put("k", values[times % 2]!).then(() => write(times - 1));
      const written = write(8).then(() => "written");
      do {
        const value = (await get("k"))!;
        assert.ok(values.some((one) => one.equals(value)));
      } while ((await Promise.race([written, undefined])) !== "written");
    });

    it("rereads the row if its object is deleted before it is opened or read", async () => {
      for (const moment of ["before", "after"] as const) {
        await put("k", Buffer.alloc(INLINE_BYTES + 1, 1));
        const successor = Buffer.alloc(INLINE_BYTES + 1, 2);
        let interfered = false;
        const interfere = async () => {
          if (interfered) return;
          interfered = true;
          await put("k", successor);
          await kv.close();
        };
        const open: ObjectStore["open"] = async (key) => {
          if (moment === "before") await interfere();
          const handle = await objects.open(key);
          await interfere();
          return handle;
        };
        assert.deepEqual(await get("k", createKvStore({ db, objects: { ...objects, open }, clock })), successor);
      }
    });

    it("the sweep removes expired keys and their objects in batches", async () => {
      for (let i = 0; i < 7; i++) await put(`small ${i}`, "v", { expiresAt: clock.now() + 1000 });
      await put("large", randomBytes(INLINE_BYTES + 1), { expiresAt: clock.now() + 1000 });
      await put("stays", randomBytes(INLINE_BYTES + 1));
      await put("later", "v", { expiresAt: clock.now() + HOUR });
      assert.equal((await kv.sweep()).expired, 0);
      clock.advance(1000);
      const first = await kv.sweep({ limit: 5 });
      assert.deepEqual([first.expired, first.finished], [5, false]);
      assert.equal((await kv.sweep({ limit: 500 })).expired, 3);
      assert.equal((await stored()).length, 1);
      assert.deepEqual(await names(), ["later", "stays"]);
    });

    it("the sweep deletes objects that a crash left without a row, but not recent or referenced ones", async () => {
      await put("alive", randomBytes(INLINE_BYTES + 1));
      for (let i = 0; i < 3; i++) await objects.put(`kv/${namespace}/${randomIds.hex()}`, Buffer.from("orphan"));
      await kv.sweep();
      assert.equal((await stored()).length, 4);
      while (!(await kv.sweep({ limit: 2, orphanGraceMs: -HOUR })).finished);
      assert.equal((await stored()).length, 1);
      assert.equal((await get("alive"))!.length, INLINE_BYTES + 1);
    });

    it("an object missing from the store is an error, not an absent key", async () => {
      await put("k", randomBytes(INLINE_BYTES + 1));
      await objects.delete(await stored());
      await assert.rejects(get("k"), /is not in the object store/);
    });

    it("behaves like a map with expiration", () =>
      checkKvModel({
        create: () => ({ kv, clock, namespace: `namespace-${++namespaces}` }),
        runs: engine.name === "sqlite" ? 40 : 15,
      }));
  });
}
