import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, type Clock, type UserError } from "../../../kernel/index.ts";
import { type Db } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { createR2BucketList, type R2BucketList } from "./bucket-list.ts";
import { createR2Buckets, type R2Buckets } from "./buckets.ts";
import { r2Migrations } from "./r2-table.ts";

/** Behavior of account buckets on every database engine. */
export function bucketListConformance(engine: TestEngine): void {
  describe("R2 buckets of an account", () => {
    let db: Db;
    let r2: R2Buckets;
    let clock: Clock & { advance(ms: number): void };
    let list: R2BucketList;
    let account = "";
    let accounts = 0;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), "r2-buckets-"));
      ends.push(async () => rmSync(folder, { recursive: true, force: true }));
      ({ db } = await engine.open({ after: (end) => ends.push(end) }, r2Migrations));
      clock = createManualClock(Date.now());
      r2 = createR2Buckets({ db, objects: await openWriteOnceObjects({ folder }), clock });
      list = createR2BucketList({ db, buckets: r2, clock });
      ends.push(() => r2.close());
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const it = (what: string, run: () => Promise<void>) =>
      test(what, () => ((account = (++accounts).toString(16).padStart(32, "0")), run()));
    const refused = (kind: string) => (error: UserError) => (assert.equal(error.kind, kind), true);
    const other = "f".repeat(32);
    const setState = (id: string, state: string, since: number) =>
      db.write(
        db
          .tables<{ r2_buckets: { id: string; state: string; state_since: number } }>()
          .updateTable("r2_buckets")
          .set({ state, state_since: since })
          .where("id", "=", id),
      );

    it("have names that are unique within an account and independent between accounts", async () => {
      const mine = await list.create(account, "photos", {
        location: "weur",
        storageClass: "InfrequentAccess",
        jurisdiction: "eu",
      });
      assert.deepEqual(
        [mine.name, mine.location, mine.storageClass, mine.jurisdiction, mine.createdAt.getTime()],
        ["photos", "weur", "InfrequentAccess", "eu", clock.now()],
      );
      await assert.rejects(list.create(account, "photos"), refused("bucketExists"));
      const theirs = await list.create(other, "photos");
      assert.notEqual(mine.id, theirs.id);
      assert.deepEqual([await list.get(account, "photos"), await list.get(account, "absent")], [mine, undefined]);
      assert.equal(theirs.location, undefined);
      await r2.put(mine.id, "key", Buffer.from("mine"));
      assert.equal(await r2.head(theirs.id, "key"), undefined);
      for (const name of ["ab", "x".repeat(64), "Photos", "a_b", "-ab", "ab-", "a.b", ""])
        await assert.rejects(list.create(account, name), refused("invalidBucketName"), name);
    });

    it("are listed by name, with a cursor, from a start name, and by part of a name", async () => {
      const names = ["aaa", "b-1", "b-2", "b-3", "c-b-d", "zzz"];
      for (const name of names.toReversed()) await list.create(account, name);
      const all = async (options: Parameters<R2BucketList["list"]>[1]) => {
        const found: string[][] = [];
        for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
          const page = await list.list(account, { ...options, ...(cursor !== undefined && { cursor }) });
          found.push(page.buckets.map(({ name }) => name));
          cursor = page.cursor;
        }
        return found;
      };
      assert.deepEqual(await all({}), [names]);
      assert.deepEqual(await all({ limit: 4 }), [names.slice(0, 4), names.slice(4)]);
      assert.deepEqual(await all({ limit: 4, direction: "desc" }), [
        names.toReversed().slice(0, 4),
        names.toReversed().slice(4),
      ]);
      assert.deepEqual(await all({ limit: 3 }), [names.slice(0, 3), names.slice(3)]);
      assert.deepEqual(await all({ contains: "B-", limit: 2 }), [
        ["b-1", "b-2"],
        ["b-3", "c-b-d"],
      ]);
      assert.deepEqual(await all({ contains: "%" }), [[]]);
      assert.deepEqual(await all({ contains: "_" }), [[]]);
      assert.deepEqual(await all({ startAfter: "b-2", limit: 1 }), [["b-3"], ["c-b-d"], ["zzz"]]);
      for (const options of [
        { cursor: "no cursor!" },
        { cursor: "" },
        { limit: 0 },
        { limit: 1001 },
        { startAfter: "\0" },
      ])
        await assert.rejects(list.list(account, options), refused("invalidArgument"));
    });

    it("can be deleted when empty, after which their names can be reused", async () => {
      const { id } = await list.create(account, "bucket");
      await r2.put(id, "key", Buffer.from("v"));
      await assert.rejects(list.delete(account, "bucket"), refused("bucketNotEmpty"));
      assert.equal(await list.exists(account, "bucket"), true);
      await r2.delete(id, ["key"]);
      await assert.rejects(list.delete(other, "bucket"), refused("noSuchBucket"));
      await list.delete(account, "bucket");
      await assert.rejects(list.delete(account, "bucket"), refused("noSuchBucket"));
      assert.equal(await list.exists(account, "bucket"), false);
      assert.notEqual((await list.create(account, "bucket")).id, id);
    });

    it("can change the storage class of later writes", async () => {
      await list.create(account, "bucket");
      assert.equal((await list.resolve(account, "bucket")).storageClass, "Standard");
      assert.equal(
        (await list.changeStorageClass(account, "bucket", "InfrequentAccess")).storageClass,
        "InfrequentAccess",
      );
      assert.equal((await list.resolve(account, "bucket")).storageClass, "InfrequentAccess");
      await assert.rejects(list.changeStorageClass(account, "absent", "Standard"), refused("noSuchBucket"));
    });

    it("lose no acknowledged write when they are deleted concurrently", async () => {
      for (let round = 0; round < 15; round++) {
        const name = `bucket-${round}`;
        const { id } = await list.create(account, name);
        const write = async (key: string) => {
          await r2.put(id, key, Buffer.from("v"));
          await list.confirm(id);
          return key;
        };
        const [deleted, ...written] = await Promise.allSettled([list.delete(account, name), write("a"), write("b")]);
        const kept = written.filter(({ status }) => status === "fulfilled");
        if (deleted!.status === "fulfilled")
          assert.deepEqual(kept, [], "a write was acknowledged although the bucket was deleted");
        else assert.equal(await list.exists(account, name), true);
      }
    });

    it("the sweep completes a deletion that a crash interrupted", async () => {
      const [empty, full, fresh] = [
        await list.create(account, "empty"),
        await list.create(account, "full"),
        await list.create(account, "fresh"),
      ];
      await r2.put(full.id, "key", Buffer.from("v"));
      for (const { id } of [empty, full]) await setState(id, "removing", clock.now() - 120_000);
      await setState(fresh.id, "removing", clock.now());
      await assert.rejects(list.confirm(full.id), refused("unavailable"));
      await list.sweep();
      assert.deepEqual([await list.exists(account, "empty"), await list.exists(account, "full")], [false, true]);
      await list.confirm(full.id);
      await assert.rejects(list.confirm(empty.id), refused("noSuchBucket"));
      assert.equal((await r2.list(full.id)).objects.length, 1);
      // Callers do not have to wait for the sweep.
      await list.delete(account, "fresh");
      assert.equal(await list.exists(account, "fresh"), false);
    });

    it("the sweep removes objects written into a deleted bucket at the last moment, and later forgets the bucket", async () => {
      const { id } = await list.create(account, "bucket");
      await list.delete(account, "bucket");
      await r2.put(id, "late", Buffer.from("v"));
      await assert.rejects(list.confirm(id), refused("noSuchBucket"));
      await list.sweep();
      assert.deepEqual((await r2.list(id)).objects, []);
      clock.advance(9 * 24 * 3600_000);
      await list.sweep();
      await assert.rejects(list.confirm(id), refused("noSuchBucket"));
      assert.deepEqual(
        await db
          .tables<{ r2_buckets: { id: string } }>()
          .selectFrom("r2_buckets")
          .select("id")
          .where("id", "=", id)
          .execute(),
        [],
      );
    });

    it("a worker's lookup is served from memory for a few seconds", async () => {
      const elsewhere = createR2BucketList({ db, buckets: r2, clock });
      const { id } = await list.create(account, "bound");
      await assert.rejects(list.resolve(account, "absent"), refused("noSuchBucket"));
      assert.deepEqual(
        [(await list.resolve(account, "bound")).id, (await elsewhere.resolve(account, "bound")).id],
        [id, id],
      );
      await list.delete(account, "bound");
      await assert.rejects(list.resolve(account, "bound"), refused("noSuchBucket"));
      clock.advance(10_000);
      await assert.rejects(elsewhere.resolve(account, "bound"), refused("noSuchBucket"));
    });
  });
}
