import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { sql } from "kysely";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { isStoreError } from "../errors.ts";
import { migrate } from "./migrate.ts";
import type { Db, Migration } from "./port.ts";
import { loadRows } from "./row-load.ts";
import { openRowSnapshot, type DatabaseAddress, type PortableValue } from "./row-snapshot.ts";
import { openSqlite } from "./sqlite.ts";

interface Tables {
  things: { id: string; number: number | null; share: number; body: Uint8Array | null };
  pairs: { a: string; b: number };
}

const first: Migration = {
  name: "test-001",
  async up(db, types) {
    await db.schema
      .createTable("things")
      .addColumn("id", sql.raw(types.keyText), (column) => column.primaryKey())
      .addColumn("number", "bigint")
      .addColumn("share", "double precision", (column) => column.notNull())
      .addColumn("body", sql.raw(types.bytes))
      .execute();
    await db.schema
      .createTable("pairs")
      .addColumn("a", "text", (column) => column.notNull())
      .addColumn("b", "integer", (column) => column.notNull())
      .addPrimaryKeyConstraint("pairs_key", ["b", "a"])
      .execute();
  },
};
const second: Migration = {
  name: "test-002",
  up: async (db) =>
    db.schema
      .alterTable("pairs")
      .addColumn("c", "text", (column) => column.defaultTo("new"))
      .execute(),
};

const LARGE = 9_223_372_036_854_775_807n;

async function fill(db: Db): Promise<void> {
  await migrate(db, [first]);
  await db
    .tables<Tables>()
    .insertInto("things")
    .values([
      { id: "ä 'quoted' \n", number: -5, share: 0.1, body: Buffer.from([0, 255, 10]) },
      { id: "empty", number: null, share: 1, body: Buffer.alloc(0) },
      { id: "large", number: LARGE as unknown as number, share: -1e300, body: null },
    ])
    .execute();
  for (let n = 0; n < 1234; n += 617)
    await db
      .tables<Tables>()
      .insertInto("pairs")
      .values(Array.from({ length: 617 }, (_, at) => ({ a: `pair ${n + at}`, b: 2000 - n - at })))
      .execute();
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function readAll(address: DatabaseAddress): Promise<Record<string, PortableValue[][]>> {
  const snapshot = await openRowSnapshot(address);
  try {
    const all: Record<string, PortableValue[][]> = {};
    for (const table of snapshot.tables) all[table.name] = await collect(snapshot.rows(table));
    return all;
  } finally {
    await snapshot.close();
  }
}

const load = async (db: Db, from: DatabaseAddress, migrations: readonly Migration[]) => {
  const snapshot = await openRowSnapshot(from);
  try {
    return await loadRows(db, migrations, {
      applied: snapshot.migrations,
      async *tables() {
        for (const table of snapshot.tables) yield { ...table, rows: snapshot.rows(table) };
      },
    });
  } finally {
    await snapshot.close();
  }
};

function sqliteFile(t: TestContext): { db: Db; at: { path: string } } {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-rows-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const at = { path: join(folder, "test.sqlite") };
  const db = openSqlite(at);
  t.after(() => db.close());
  return { db, at };
}

onEveryDatabase((engine) => {
  describe(`a snapshot of ${engine.name}`, () => {
    test("contains all rows in primary key order, and survives a round trip through SQLite", async (t) => {
      const { db, where } = await engine.open(t);
      await fill(db);
      const rows = await readAll(where as DatabaseAddress);
      assert.deepEqual(Object.keys(rows), ["pairs", "things"]);
      assert.equal(rows["pairs"]!.length, 1234);
      assert.deepEqual(rows["pairs"]![0], ["pair 1233", 767]);
      assert.deepEqual(
        new Set(rows["things"]!.map((row) => JSON.stringify(row))),
        new Set([
          JSON.stringify(["ä 'quoted' \n", -5, 0.1, { b: "AP8K" }]),
          JSON.stringify(["empty", null, 1, { b: "" }]),
          JSON.stringify(["large", { i: LARGE.toString() }, -1e300, null]),
        ]),
      );

      const copy = sqliteFile(t);
      assert.equal(await load(copy.db, where as DatabaseAddress, [first]), 1237);
      assert.deepEqual(await readAll(copy.at), rows);
      const back = await engine.open(t);
      assert.equal(await load(back.db, copy.at, [first]), 1237);
      assert.deepEqual(await readAll(back.where as DatabaseAddress), rows);
    });

    test("is not affected by later writes", async (t) => {
      const { db, where } = await engine.open(t);
      await fill(db);
      const snapshot = await openRowSnapshot(where as DatabaseAddress);
      t.after(() => snapshot.close());
      await db.tables<Tables>().deleteFrom("pairs").execute();
      await db.tables<Tables>().insertInto("things").values({ id: "later", number: 1, share: 1, body: null }).execute();
      const counts: Record<string, number> = {};
      for (const table of snapshot.tables) counts[table.name] = (await collect(snapshot.rows(table))).length;
      assert.deepEqual(counts, { pairs: 1234, things: 3 });
    });

    test("is migrated by a newer version, and is rejected by an older version or if the target has rows", async (t) => {
      const { db, where } = await engine.open(t);
      await fill(db);
      const newer = await engine.open(t);
      await load(newer.db, where as DatabaseAddress, [first, second]);
      const row = await newer.db
        .tables<{ pairs: { a: string; c: string } }>()
        .selectFrom("pairs")
        .select("c")
        .executeTakeFirst();
      assert.equal(row?.c, "new");
      await assert.rejects(load(newer.db, where as DatabaseAddress, [first, second]), (err) =>
        isStoreError(err, "databaseNotEmpty"),
      );
      const older = await engine.open(t);
      await assert.rejects(load(older.db, newer.where as DatabaseAddress, [first]), (err) =>
        isStoreError(err, "databaseNewer"),
      );
    });
  });
});
