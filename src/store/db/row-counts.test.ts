import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { migrate } from "./migrate.ts";
import type { Migration } from "./port.ts";
import { countRows, rowCount } from "./row-counts.ts";
import { loadRows } from "./row-load.ts";
import { openRowSnapshot } from "./row-snapshot.ts";

const ALL = { name: "notes_of_owner", table: "notes", by: "owner" } as const;
const OPEN = { name: "open_notes", table: "notes", by: "owner", only: "row.kind <> 'done'" } as const;

const tables: Migration = {
  name: "test-001",
  up: async (db) =>
    void (await sql`create table notes (id integer primary key, owner text not null, kind text not null)`.execute(db)),
};
const counts: Migration = {
  name: "test-002",
  async up(db, types) {
    await countRows(db, types, ALL);
    await countRows(db, types, OPEN);
  },
};

onEveryDatabase((engine) => {
  test("rows are counted by key and condition, from before the migration on", async (t) => {
    const { db } = await engine.open(t, [tables]);
    const kysely = db.tables<{ notes: { id: number; owner: string; kind: string } }>();
    const insert = (first: number, owner: string, kinds: string[]) =>
      db.write(kysely.insertInto("notes").values(kinds.map((kind, at) => ({ id: first + at, owner, kind }))));
    const found = async (owner: string) => [await rowCount(kysely, ALL, owner), await rowCount(kysely, OPEN, owner)];
    await insert(1, "ann", ["new", "done"]);
    await migrate(db, [tables, counts]);
    await insert(3, "ann", ["new", "done", "new"]);
    await insert(6, "bob", ["new"]);
    assert.deepEqual(
      [await found("ann"), await found("bob"), await found("eve")],
      [
        [5, 3],
        [1, 1],
        [0, 0],
      ],
    );
    await db.write(kysely.deleteFrom("notes").where("kind", "=", "new"));
    assert.deepEqual(
      [await found("ann"), await found("bob")],
      [
        [2, 0],
        [0, 0],
      ],
    );
    const { rows } = await sql`select counted from row_counts`.execute(kysely);
    assert.deepEqual(rows, [{ counted: ALL.name }], "counts of zero are deleted");
    await assert.rejects(
      db.transaction<{ notes: { id: number; owner: string; kind: string } }, void>(async (tx) => {
        await tx.insertInto("notes").values({ id: 9, owner: "ann", kind: "new" }).execute();
        assert.equal(await rowCount(tx, ALL, "ann"), 3);
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.deepEqual(await found("ann"), [2, 0]);
  });

  test("a backup omits the counts, and restoring its rows computes them again", async (t) => {
    const source = await engine.open(t, [tables, counts]);
    await sql`insert into notes values (1, 'ann', 'new'), (2, 'ann', 'done')`.execute(source.db.tables());
    const snapshot = await openRowSnapshot(source.where as Parameters<typeof openRowSnapshot>[0]);
    t.after(() => snapshot.close());
    assert.deepEqual(
      snapshot.tables.map(({ name }) => name),
      ["notes"],
    );
    const copy = await engine.open(t);
    await loadRows(copy.db, [tables, counts], {
      applied: snapshot.migrations,
      async *tables() {
        for (const table of snapshot.tables) yield { ...table, rows: snapshot.rows(table) };
      },
    });
    assert.deepEqual(
      [await rowCount(copy.db.tables(), ALL, "ann"), await rowCount(copy.db.tables(), OPEN, "ann")],
      [2, 1],
    );
  });
});
