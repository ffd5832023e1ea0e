import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, type Clock, type UserError } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { createD1Databases } from "./databases.ts";
import type { D1Databases } from "./port.ts";
import { createD1DatabaseList, type D1DatabaseList } from "./list.ts";
import { databaseListMigration, type DatabaseListTables } from "./list-table.ts";

/** Behavior of account D1 databases on every database engine. */
export function databaseListConformance(engine: TestEngine): void {
  describe("D1 databases of an account", () => {
    let db: Db;
    let clock: Clock & { advance(ms: number): void };
    let databases: D1Databases;
    let list: D1DatabaseList;
    let directory = "";
    let account = "";
    let accounts = 0;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "d1-list-"));
      ends.push(async () => rmSync(directory, { recursive: true, force: true }));
      ({ db } = await engine.open({ after: (end) => ends.push(end) }, [databaseListMigration]));
      clock = createManualClock(Date.now());
      databases = createD1Databases({ directory, processes: 1 });
      ends.push(() => databases.close());
      list = createD1DatabaseList({ db, databases, clock, maxDatabases: 30 });
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const it = (what: string, run: () => Promise<void>) =>
      test(what, () => ((account = (++accounts).toString(16).padStart(32, "0")), run()));
    const refused = (kind: string) => (error: UserError) => (assert.equal(error.kind, kind), true);
    const stranger = "f".repeat(32);
    const names = async (page: number, perPage: number, part?: string) => {
      const { items, total } = await list.list(account, { page, perPage }, part);
      return [items.map(({ name }) => name), total];
    };

    it("are found by id and by name within their account", async () => {
      const made = await list.create(account, { name: "shop-DB_1", jurisdiction: "eu", locationHint: "weur" });
      assert.match(made.id, /^[0-9a-f-]{36}$/);
      assert.deepEqual(
        { ...made, id: "" },
        {
          id: "",
          name: "shop-DB_1",
          createdAt: new Date(clock.now()),
          readReplication: "disabled",
          jurisdiction: "eu",
          locationHint: "weur",
        },
      );
      assert.deepEqual(await list.get(account, made.id), made);
      assert.deepEqual(await list.get(account, "shop-DB_1"), made);
      for (const nothing of ["shop-db_1", "0b8ac2f5-6e51-4b0a-8a6e-8b53ee7e4c7a", "", "a\0b", "\ud800", "%"])
        await assert.rejects(list.get(account, nothing), refused("databaseNotFound"), JSON.stringify(nothing));
      for (const idOrName of [made.id, made.name])
        await assert.rejects(list.get(stranger, idOrName), refused("databaseNotFound"));
      assert.deepEqual(
        [await list.exists(account, made.id), await list.exists(stranger, made.id), await list.exists(account, "a\0b")],
        [true, false, false],
      );
    });

    it("have names that are unique within an account and can be reused after a deletion", async () => {
      const { id } = await list.create(account, { name: "one" });
      await assert.rejects(list.create(account, { name: "one" }), refused("nameTaken"));
      await list.create(stranger, { name: "one" });
      await list.delete(account, id);
      assert.notEqual((await list.create(account, { name: "one" })).id, id);
      for (const name of ["", "-a", "_a", "a b", "é", "a\0", "a/b", "x".repeat(129)])
        await assert.rejects(list.create(account, { name }), refused("badName"), JSON.stringify(name));
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => list.create(account, { name: "wanted" })),
      );
      assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", ...Array(7).fill("rejected")]);
      for (const result of results)
        if (result.status === "rejected") assert.equal((result.reason as UserError).kind, "nameTaken");
    });

    it("are listed by name, all or those that contain a word, to the last page, up to the limit per account", async () => {
      for (const name of ["b", "a_b", "Ab", "c", "a-100"]) await list.create(account, { name });
      assert.deepEqual(
        [await names(1, 2), await names(2, 2), await names(3, 2), await names(4, 2)],
        [
          [["Ab", "a-100"], 5],
          [["a_b", "b"], 5],
          [["c"], 5],
          [[], 5],
        ],
      );
      assert.deepEqual(
        [
          await names(1, 2, "B"),
          await names(2, 2, "B"),
          await names(1, 9, "a_"),
          await names(1, 9, "%"),
          await names(1, 9, "\0"),
        ],
        [
          [["Ab", "a_b"], 3],
          [["b"], 3],
          [["a_b"], 1],
          [[], 0],
          [[], 0],
        ],
      );
      for (let more = 0; more < 25; more++) await list.create(account, { name: `more${more}` });
      await assert.rejects(list.create(account, { name: "one-too-many" }), refused("tooManyDatabases"));
      await list.delete(account, (await list.get(account, "c")).id);
      assert.equal((await list.list(account, { page: 1, perPage: 1 })).total, 29);
      await list.create(account, { name: "fits-again" });
    });

    it("keep their read replication mode", async () => {
      const { id } = await list.create(account, { name: "read", readReplication: "auto" });
      assert.equal((await list.get(account, id)).readReplication, "auto");
      assert.equal((await list.changeReadReplication(account, id, "disabled")).readReplication, "disabled");
      await assert.rejects(list.changeReadReplication(stranger, id, "auto"), refused("databaseNotFound"));
      assert.equal((await list.get(account, id)).readReplication, "disabled");
    });

    it("are deleted with their file, and the sweep removes a file that appears late or was left by a crash", async () => {
      const { id } = await list.create(account, { name: "gone" });
      const { id: left } = await list.create(account, { name: "left" });
      const { id: kept } = await list.create(account, { name: "kept" });
      const use = (...which: string[]) =>
        Promise.all(which.map((database) => databases.query(database, [{ sql: "create table if not exists t(a)" }])));
      const files = () =>
        readdirSync(directory)
          .filter((name) => [id, left, kept].some((known) => name === `${known}.sqlite`))
          .sort();
      await use(id, left, kept);
      await assert.rejects(list.delete(stranger, id), refused("databaseNotFound"));
      await list.delete(account, id);
      await assert.rejects(list.delete(account, id), refused("databaseNotFound"));
      assert.deepEqual(files(), [`${kept}.sqlite`, `${left}.sqlite`].sort());

      // The state on disk if the server is killed between deleting the row and deleting the file.
      await createD1DatabaseList({ db, clock }).delete(account, left);
      await use(id);
      await list.sweep();
      assert.deepEqual(files(), [`${kept}.sqlite`]);
      const remembered = async () =>
        (
          await db
            .tables<DatabaseListTables>()
            .selectFrom("d1_databases")
            .select("id")
            .where("removed_at", "is not", null)
            .execute()
        ).length;
      assert.ok((await remembered()) >= 2);
      clock.advance(2 * 3600_000);
      await list.sweep();
      assert.equal(await remembered(), 0);
    });

    it("are deleted immediately in this process and soon in others", async () => {
      const elsewhere = createD1DatabaseList({ db, clock });
      const { id } = await list.create(account, { name: "bound" });
      assert.deepEqual(
        [await list.isLive(account, id), await elsewhere.isLive(account, id), await list.isLive(stranger, id)],
        [true, true, false],
      );
      assert.equal(list.isLive(account, id), true, "served from memory");
      await list.delete(account, id);
      assert.equal(await list.isLive(account, id), false);
      clock.advance(10_000);
      assert.equal(await elsewhere.isLive(account, id), false);
    });
  });
}
