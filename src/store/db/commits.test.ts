import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import type { Migration } from "./port.ts";
import { createGroupCommitter } from "./commits.ts";

interface Tables {
  notes: { name: string; value: number };
}

const migrations: Migration[] = [
  {
    name: "notes",
    up: async (db) =>
      void (await db.schema
        .createTable("notes")
        .addColumn("name", "text", (column) => column.primaryKey())
        .addColumn("value", "integer", (column) => column.notNull())
        .execute()),
  },
];

onEveryDatabase((engine) => {
  test("concurrent writes finish independently, and a group is atomic", async (t) => {
    const { db } = await engine.open(t, migrations);
    const commits = createGroupCommitter(db);
    const note = (name: string, value = 0) => db.tables<Tables>().insertInto("notes").values({ name, value });
    const names = async () =>
      (await db.tables<Tables>().selectFrom("notes").select("name").orderBy("name").execute()).map(({ name }) => name);
    await commits.write(note("a"));
    const ends = await Promise.allSettled([
      ...Array.from({ length: 40 }, (_, n) => commits.write(note(`n${n}`, n).returning("value"))),
      commits.write(note("a")),
      commits.writeAtomically([note("g1"), note("g2")]),
      commits.writeAtomically([note("h1"), note("a")]),
      commits.writeAtomically([]),
    ]);
    assert.deepEqual(
      ends
        .slice(0, 40)
        .map((end) => end.status === "fulfilled" && (end.value as { rows: { value: number }[] }).rows[0]!.value),
      Array.from({ length: 40 }, (_, n) => n),
    );
    assert.deepEqual(
      ends.slice(40).map(({ status }) => status),
      ["rejected", "fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(
      (await names()).filter((name) => !name.startsWith("n")),
      ["a", "g1", "g2"],
    );
    const { affected } = await commits.write(db.tables<Tables>().deleteFrom("notes").where("name", "like", "n%"));
    assert.equal(affected, 40);
  });

  test("sequential writes keep their order, regardless of earlier batches", async (t) => {
    const { db } = await engine.open(t, migrations);
    const commits = createGroupCommitter(db);
    await commits.write(db.tables<Tables>().insertInto("notes").values({ name: "count", value: 0 }));
    const add = () =>
      commits.write(
        db
          .tables<Tables>()
          .updateTable("notes")
          .set((eb) => ({ value: eb("value", "+", 1) }))
          .returning("value"),
      );
    const together = await Promise.all(Array.from({ length: 500 }, add));
    assert.deepEqual(
      together.map(({ rows }) => rows[0]!.value).sort((a, b) => a - b),
      Array.from({ length: 500 }, (_, n) => n + 1),
    );
    for (let n = 501; n < 520; n++) assert.equal((await add()).rows[0]!.value, n);
  });
});
