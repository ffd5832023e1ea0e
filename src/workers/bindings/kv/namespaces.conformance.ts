import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, type Clock, type UserError } from "../../../kernel/index.ts";
import { type Db, type ObjectStore } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { createKvStore, type KvStore } from "./kv-store.ts";
import { kvMigrations } from "./kv-table.ts";
import { INLINE_BYTES } from "./limits.ts";
import { createKvNamespaces, type KvNamespaces } from "./namespaces.ts";

/** Behavior of account KV namespaces on every database engine. */
export function namespacesConformance(engine: TestEngine): void {
  describe("KV namespaces", () => {
    let db: Db;
    let objects: ObjectStore;
    let store: KvStore;
    let clock: Clock & { advance(ms: number): void };
    let namespaces: KvNamespaces;
    let account = "";
    let accounts = 0;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), "kv-namespaces-"));
      ends.push(async () => rmSync(folder, { recursive: true, force: true }));
      ({ db } = await engine.open({ after: (end) => ends.push(end) }, kvMigrations));
      objects = await openWriteOnceObjects({ folder });
      clock = createManualClock(Date.now());
      store = createKvStore({ db, objects, clock });
      namespaces = createKvNamespaces({ db, store, clock, maxNamespaces: 30 });
      ends.push(
        () => store.close(),
        () => namespaces.close(),
      );
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const it = (what: string, run: () => Promise<void>) =>
      test(what, () => ((account = (++accounts).toString(16).padStart(32, "0")), run()));
    const refused = (kind: string) => (error: UserError) => (assert.equal(error.kind, kind), true);
    const keys = async (id: string) => (await store.list(id)).keys.length;
    const remembered = async () =>
      (
        await db
          .tables<{ kv_namespaces: { id: string; removed_at: number | null } }>()
          .selectFrom("kv_namespaces")
          .select("id")
          .where("removed_at", "is not", null)
          .execute()
      ).map(({ id }) => id);

    it("a title is unique within an account and can be reused after a deletion", async () => {
      const one = await namespaces.create(account, "Sessions é");
      assert.match(one.id, /^[0-9a-f]{32}$/);
      await assert.rejects(namespaces.create(account, "Sessions é"), refused("titleTaken"));
      const other = await namespaces.create("f".repeat(32), "Sessions é");
      assert.deepEqual(
        [
          await namespaces.exists(account, one.id),
          await namespaces.exists(account, other.id),
          await namespaces.exists(account, "nothing"),
        ],
        [true, false, false],
      );
      assert.deepEqual(await namespaces.get(account, one.id), one);
      assert.equal(await namespaces.get(account, other.id), undefined);
      await namespaces.delete(account, one.id);
      assert.equal(await namespaces.get(account, one.id), undefined);
      assert.notEqual((await namespaces.create(account, "Sessions é")).id, one.id);
      for (const title of ["", "  ", "a\u0000", "a\n", "\ud800", "x".repeat(513)])
        await assert.rejects(namespaces.create(account, title), refused("badTitle"), JSON.stringify(title));
    });

    it("only one of many concurrent requests for the same title succeeds", async () => {
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => namespaces.create(account, "wanted")));
      assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", ...Array(7).fill("rejected")]);
      for (const result of results)
        if (result.status === "rejected") assert.equal((result.reason as UserError).kind, "titleTaken");
      assert.equal((await namespaces.list(account, { page: 1, perPage: 10 })).total, 1);
    });

    it("are listed in pages in either order, with a total that follows creations and deletions, up to the limit per account", async () => {
      const titles = ["b", "B", "a", "é", "c"];
      for (const title of titles) await namespaces.create(account, title);
      const list = async (page: number, by: "id" | "title" = "title", direction: "asc" | "desc" = "asc") => {
        const { items, total } = await namespaces.list(account, { page, perPage: 2 }, { field: by, direction });
        assert.equal(total, 5);
        return items.map((item) => item[by]);
      };
      assert.deepEqual(
        [await list(1), await list(2), await list(3), await list(4)],
        [["B", "a"], ["b", "c"], ["é"], []],
      );
      assert.deepEqual(await list(1, "title", "desc"), ["é", "c"]);
      const ids = [...(await list(1, "id")), ...(await list(2, "id")), ...(await list(3, "id"))];
      assert.deepEqual(ids, [...ids].sort());
      assert.deepEqual(await list(1, "id", "desc"), ids.reverse().slice(0, 2));
      for (let more = 0; more < 25; more++) await namespaces.create(account, `more ${more}`);
      await assert.rejects(namespaces.create(account, "one too many"), refused("tooManyNamespaces"));
      await namespaces.delete(account, ids[0]!);
      assert.equal((await namespaces.list(account, { page: 1, perPage: 1 })).total, 29);
      await namespaces.create(account, "fits again");
    });

    it("can be renamed", async () => {
      const { id } = await namespaces.create(account, "old");
      await namespaces.create(account, "taken");
      assert.equal((await namespaces.rename(account, id, "new")).title, "new");
      assert.equal((await namespaces.rename(account, id, "new")).title, "new");
      await assert.rejects(namespaces.rename(account, id, "taken"), refused("titleTaken"));
      await assert.rejects(namespaces.rename("f".repeat(32), id, "x"), refused("namespaceNotFound"));
      await assert.rejects(namespaces.rename(account, "0".repeat(32), "x"), refused("namespaceNotFound"));
    });

    it("are deleted with all their entries, and no others", async () => {
      const gone = await namespaces.create(account, "gone");
      const kept = await namespaces.create(account, "kept");
      await Promise.all(
        Array.from({ length: 1203 }, (_, index) =>
          store.put(gone.id, `key ${index}`, Buffer.from("v"), { expiresAt: index % 2 ? clock.now() + 60_000 : null }),
        ),
      );
      await store.put(gone.id, "large", randomBytes(INLINE_BYTES + 1));
      await store.put(kept.id, "key", Buffer.from("v"));
      await namespaces.delete(account, gone.id);
      await assert.rejects(namespaces.delete(account, gone.id), refused("namespaceNotFound"));
      await namespaces.sweep();
      await store.close();
      assert.deepEqual([await keys(gone.id), await keys(kept.id)], [0, 1]);
      for await (const { key } of objects.list(`kv/${gone.id}/`)) assert.fail(key);

      // An entry written by another machine at the last moment is found as long as the deleted namespace is still being
      // checked.
      await store.put(gone.id, "late", Buffer.from("v"));
      await namespaces.sweep();
      assert.equal(await keys(gone.id), 0);
      assert.ok((await remembered()).includes(gone.id));
      clock.advance(2 * 3600_000);
      await namespaces.sweep();
      assert.deepEqual(await remembered(), []);
    });

    it("a deletion takes effect immediately in this process, and soon in others", async () => {
      const elsewhere = createKvNamespaces({ db, store, clock });
      const { id } = await namespaces.create(account, "bound");
      assert.deepEqual([await namespaces.isLive(account, id), await elsewhere.isLive(account, id)], [true, true]);
      assert.equal(namespaces.isLive(account, id), true, "served from memory");
      assert.equal(await namespaces.isLive("f".repeat(32), id), false);
      await namespaces.delete(account, id);
      assert.equal(await namespaces.isLive(account, id), false);
      clock.advance(10_000);
      assert.equal(await elsewhere.isLive(account, id), false);
    });
  });
}
