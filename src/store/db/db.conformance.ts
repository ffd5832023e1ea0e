import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { type Kysely, sql } from "kysely";
import type { TestEngine } from "../../../test/support/databases.ts";
import { Fault, UserError } from "../../kernel/index.ts";
import { migrate, readMigrationStatus } from "./migrate.ts";
import { isUniqueViolation } from "./unique-violation.ts";
import type { ColumnTypes, Db, Migration } from "./port.ts";

interface Tables {
  things: { name: string; number: number | null; bytes: Uint8Array | null };
  children: { name: string; parent: string };
}

const things: Migration = {
  name: "test-001-things",
  async up(db, types) {
    await db.schema
      .createTable("things")
      .addColumn("name", sql.raw(types.keyText), (column) => column.primaryKey())
      .addColumn("number", "bigint")
      .addColumn("bytes", types.bytes)
      .execute();
    await sql`create table children (name text not null, parent text not null references things (name) deferrable initially deferred)`.execute(
      db,
    );
  },
};

const thing = (name: string, number: number | null = null, bytes: Uint8Array | null = null) => ({
  name,
  number,
  bytes,
});

/** Behavior of `Db` on every engine. */
export function dbConformance(engine: TestEngine): void {
  const open = async (t: TestContext) => (await engine.open(t, [things])).db;
  const names = async (db: Db) =>
    (await db.tables<Tables>().selectFrom("things").select("name").orderBy("name").execute()).map(({ name }) => name);

  describe("values", () => {
    test("round-trip in plain objects", async (t) => {
      const db = await open(t);
      const rows = [
        thing("a", Number.MAX_SAFE_INTEGER, new Uint8Array([0, 1, 255])),
        thing("b", -1, new Uint8Array()),
        thing("ü 😀 ' \" \\ ;", null, null),
        thing("long", 0, new Uint8Array(2_000_000).fill(7)),
      ];
      await db.tables<Tables>().insertInto("things").values(rows).execute();
      const found = await db.tables<Tables>().selectFrom("things").selectAll().orderBy("name").execute();
      assert.deepStrictEqual(found, [rows[0], rows[1], rows[3], rows[2]]);
      const child = { name: "x".repeat(2_000_000), parent: "long" };
      await db.tables<Tables>().insertInto("children").values(child).execute();
      assert.deepStrictEqual(await db.tables<Tables>().selectFrom("children").selectAll().execute(), [child]);
    });

    test("counts and sums are numbers", async (t) => {
      const db = await open(t);
      await db
        .tables<Tables>()
        .insertInto("things")
        .values([thing("a", 1), thing("b", 2)])
        .execute();
      const found = await db
        .tables<Tables>()
        .selectFrom("things")
        .select(({ fn }) => [fn.countAll().as("count"), fn.sum("number").as("sum")])
        .execute();
      assert.deepStrictEqual(found, [{ count: 2, sum: 3 }]);
    });

    test("key text sorts by its bytes", async (t) => {
      const db = await open(t);
      const sorted = ["A", "B", "_", "a", "a-b", "a.b", "a/b", "aB", "ab", "z", "é"];
      await db
        .tables<Tables>()
        .insertInto("things")
        .values(sorted.toReversed().map((name) => thing(name)))
        .execute();
      assert.deepEqual(await names(db), sorted);
    });
  });

  describe("a transaction", () => {
    test("commits all of its work and returns its result", async (t) => {
      const db = await open(t);
      const result = await db.transaction<Tables, string>(async (tx) => {
        await tx.insertInto("things").values(thing("a")).execute();
        await tx.insertInto("things").values(thing("b")).execute();
        return "both";
      });
      assert.equal(result, "both");
      assert.deepEqual(await names(db), ["a", "b"]);
    });

    test("rolls back when its work throws", async (t) => {
      const db = await open(t);
      const reason = new Error("no");
      await assert.rejects(
        db.transaction<Tables, void>(async (tx) => {
          await tx.insertInto("things").values(thing("a")).execute();
          throw reason;
        }),
        reason,
      );
      assert.deepEqual(await names(db), []);
      await db.transaction<Tables, unknown>((tx) => tx.insertInto("things").values(thing("b")).execute());
      assert.deepEqual(await names(db), ["b"]);
    });

    test("is invisible before its commit, and blocks other writers", async (t) => {
      const db = await open(t);
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const failing = db.transaction<Tables, void>(async (tx) => {
        await tx.insertInto("things").values(thing("inside")).execute();
        begin();
        await released;
        throw new Error("rolled back");
      });
      await begun;
      const strangers = [
        db.tables<Tables>().insertInto("things").values(thing("one")).execute(),
        db.write(db.tables<Tables>().insertInto("things").values(thing("two"))),
      ];
      assert.equal((await names(db)).includes("inside"), false);
      release();
      await assert.rejects(failing, /rolled back/);
      await Promise.all(strangers);
      assert.deepEqual(await names(db), ["one", "two"]);
    });

    test("is serializable: no concurrent increment is lost", async (t) => {
      const db = await open(t);
      await db.tables<Tables>().insertInto("things").values(thing("counter", 0)).execute();
      await Promise.all(
        Array.from({ length: 12 }, () =>
          db.transaction<Tables, void>(async (tx) => {
            const { number } = await tx
              .selectFrom("things")
              .select("number")
              .where("name", "=", "counter")
              .executeTakeFirstOrThrow();
            await tx
              .updateTable("things")
              .set({ number: number! + 1 })
              .where("name", "=", "counter")
              .execute();
          }),
        ),
      );
      assert.equal(
        (await db.tables<Tables>().selectFrom("things").select("number").executeTakeFirstOrThrow()).number,
        12,
      );
    });

    test("does not continue after a failed statement", async (t) => {
      const db = await open(t);
      await assert.rejects(
        db.transaction<Tables, void>(async (tx) => {
          await tx.insertInto("things").values(thing("a")).execute();
          await tx
            .insertInto("things")
            .values(thing("a"))
            .execute()
            .catch(() => {});
        }),
      );
      assert.deepEqual(await names(db), []);
    });

    test("rejects writes outside the transaction", async (t) => {
      const db = await open(t);
      const around: ((db: Db) => Promise<unknown>)[] = [
        (db) => db.tables<Tables>().insertInto("things").values(thing("a")).execute(),
        (db) => db.write(db.tables<Tables>().insertInto("things").values(thing("a"))),
        (db) => db.transaction<Tables, unknown>((tx) => tx.insertInto("things").values(thing("a")).execute()),
      ];
      for (const write of around)
        await assert.rejects(
          db.transaction(async () => void (await write(db))),
          Fault,
        );
      assert.deepEqual(await names(db), []);
    });

    test("rejects use after its end", async (t) => {
      const db = await open(t);
      let kept: Kysely<Tables> | undefined;
      await db.transaction<Tables, void>(async (tx) => void (kept = tx));
      await assert.rejects(kept!.insertInto("things").values(thing("late")).execute());
      assert.deepEqual(await names(db), []);
    });
  });

  describe("write", () => {
    test("returns rows and counts", async (t) => {
      const db = await open(t);
      const { rows, affected } = await db.write(
        db
          .tables<Tables>()
          .insertInto("things")
          .values([thing("a", 1), thing("b", 2)])
          .returning(["name", "number"]),
      );
      assert.deepStrictEqual(
        { rows, affected },
        {
          rows: [
            { name: "a", number: 1 },
            { name: "b", number: 2 },
          ],
          affected: 2,
        },
      );
      assert.deepStrictEqual(
        await db.write(db.tables<Tables>().updateTable("things").set({ number: 5 }).where("number", "<", 9)),
        { rows: [], affected: 2 },
      );
      assert.equal((await db.write(db.tables<Tables>().deleteFrom("things").where("name", "=", "absent"))).affected, 0);
    });

    test("is visible to the fast read as soon as it is acknowledged", async (t) => {
      const db = await open(t);
      const names = () => db.read(db.tables<Tables>().selectFrom("things").select("name").orderBy("name"));
      for (const name of ["a", "b", "c"]) {
        await db.write(db.tables<Tables>().insertInto("things").values(thing(name)));
        assert.equal((await names()).at(-1)?.name, name);
      }
      await db.transaction<Tables, void>(async (tx) => {
        await tx.deleteFrom("things").execute();
        assert.deepStrictEqual(
          await names(),
          [{ name: "a" }, { name: "b" }, { name: "c" }],
          "not visible before the commit",
        );
      });
      assert.deepEqual(await names(), []);
    });

    test("returns each of many concurrent callers its own result", async (t) => {
      const db = await open(t);
      const outcomes = await Promise.allSettled(
        ["a", "b", "a", "c", "b"].map((name) =>
          db.write(db.tables<Tables>().insertInto("things").values(thing(name)).returning("name")),
        ),
      );
      // One write of each duplicate pair fails; on PostgreSQL the engine chooses which one.
      const failed = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.equal(failed.length, 2);
      for (const { reason } of failed) assert.equal(isUniqueViolation(reason), true);
      assert.deepEqual(await names(db), ["a", "b", "c"]);
    });

    test("fails alone if it violates a constraint checked at commit", async (t) => {
      const db = await open(t);
      const tables = db.tables<Tables>();
      const [parent, orphan, other] = await Promise.allSettled([
        db.write(tables.insertInto("things").values(thing("parent"))),
        db.write(tables.insertInto("children").values({ name: "orphan", parent: "nobody" })),
        db.write(tables.insertInto("things").values(thing("other"))),
      ]);
      assert.deepEqual([parent!.status, orphan!.status, other!.status], ["fulfilled", "rejected", "fulfilled"]);
      assert.deepEqual(await names(db), ["other", "parent"]);
      assert.deepEqual(await tables.selectFrom("children").selectAll().execute(), []);
    });

    test("keeps the order of one caller's writes", async (t) => {
      const db = await open(t);
      const upsert = (number: number) =>
        db.write(
          db
            .tables<Tables>()
            .insertInto("things")
            .values(thing("a", number))
            .onConflict((on) => on.column("name").doUpdateSet({ number })),
        );
      for (let round = 0; round < 5; round++) {
        await upsert(round);
        assert.equal(
          (await db.tables<Tables>().selectFrom("things").select("number").executeTakeFirst())?.number,
          round,
        );
      }
    });
  });

  describe("migrate", () => {
    const column = (name: string): Migration => ({
      name: `test-${name}`,
      up: (db, types: ColumnTypes) => db.schema.alterTable("things").addColumn(name, types.bytes).execute(),
    });

    test("runs each migration once, in order, and later only new ones", async (t) => {
      const { db } = await engine.open(t);
      assert.deepEqual(await migrate(db, [things, column("x")]), ["test-001-things", "test-x"]);
      assert.deepEqual(await migrate(db, [things, column("x")]), []);
      assert.deepEqual(await migrate(db, [things, column("y"), column("x")]), ["test-y"]);
    });

    test("rejects a database newer than the program", async (t) => {
      const { db } = await engine.open(t, [things, { ...column("future"), olderVersions: "none" }]);
      await assert.rejects(
        migrate(db, [things]),
        (err: unknown) =>
          err instanceof UserError && err.kind === "databaseNewer" && err.message.includes("test-future"),
      );
    });

    test("accepts newer migrations that are compatible with this version, and rejects others", async (t) => {
      const newer = (name: string, olderVersions?: Migration["olderVersions"]): Migration => ({
        ...column(name),
        ...(olderVersions !== undefined && { olderVersions }),
      });
      const cases: [Migration, accepted: boolean][] = [
        [newer("added"), true],
        [newer("unused", { since: "test-001-things" }), true],
        [newer("too-early", { since: "test-added" }), false],
        [newer("restrictive", "none"), false],
      ];
      for (const [migration, accepted] of cases) {
        const { db } = await engine.open(t);
        await migrate(db, [things, ...(accepted ? [] : [column("added")]), migration]);
        const opened = migrate(db, [things, column("own")]);
        if (accepted) assert.deepEqual(await opened, ["test-own"]);
        else await assert.rejects(opened, (err) => err instanceof UserError && err.message.includes(migration.name));
        if (accepted)
          assert.deepEqual(await readMigrationStatus(db, [things, column("own"), column("next")]), {
            applied: ["test-001-things", "test-own"],
            pending: ["test-next"],
            newer: [migration.name],
          });
      }
    });

    test("adds the missing column `older_versions`, and rejects unknown migrations that have no value in it", async (t) => {
      const { db } = await engine.open(t, [things, column("old")]);
      await sql`alter table schema_migrations drop column older_versions`.execute(db.tables());
      assert.deepEqual((await readMigrationStatus(db, [things, column("old"), column("x")])).pending, ["test-x"]);
      await assert.rejects(migrate(db, [things]), (err) => err instanceof UserError && err.kind === "databaseNewer");
      assert.deepEqual(await migrate(db, [things, column("old"), column("x")]), ["test-x"]);
    });

    test("leaves the database unchanged if a migration fails", async (t) => {
      const { db } = await engine.open(t);
      await assert.rejects(
        migrate(db, [things, { name: "broken", up: (db) => db.schema.dropTable("absent").execute() }]),
      );
      assert.deepEqual(await migrate(db, [things]), ["test-001-things"]);
    });

    test("runs once if two processes start concurrently", async (t) => {
      const { db, another } = await engine.open(t);
      const ran = await Promise.all([db, await another(), await another()].map((each) => migrate(each, [things])));
      assert.deepEqual(ran.flat(), ["test-001-things"]);
    });
  });

  describe("close", () => {
    test("waits for pending work, then rejects", async (t) => {
      const { db, another } = await engine.open(t, [things]);
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const slow = db.transaction<Tables, void>(async (tx) => {
        begin();
        await new Promise((resolve) => setImmediate(resolve));
        await tx.insertInto("things").values(thing("slow")).execute();
      });
      await begun;
      const write = db.write(db.tables<Tables>().insertInto("things").values(thing("write")));
      await Promise.all([slow, write, db.close(), db.close()]);
      await assert.rejects(db.tables<Tables>().selectFrom("things").selectAll().execute());
      await assert.rejects(db.write(db.tables<Tables>().insertInto("things").values(thing("late"))));
      assert.deepEqual(await names(await another()), ["slow", "write"]);
    });
  });
}
