import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sql } from "kysely";
import { isStoreError } from "../errors.ts";
import { migrate } from "./migrate.ts";
import type { Migration } from "./port.ts";
import { loadRows } from "./row-load.ts";
import { openRowSnapshot } from "./row-snapshot.ts";
import { openSqlite } from "./sqlite.ts";
import { freezeSqlite, unfreezeSqlite } from "./sqlite-freeze.ts";

const indexed: Migration = {
  name: "test-001",
  async up(db) {
    await sql`create table notes (id integer primary key, body text not null)`.execute(db);
    await sql`create virtual table words using fts5(body)`.execute(db);
    await sql`create trigger notes_words after insert on notes begin insert into words (rowid, body) values (new.id, new.body); end`.execute(
      db,
    );
  },
};

function openIndexed(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-tables-"));
  const path = join(folder, "test.sqlite");
  const db = openSqlite({ path });
  t.after(async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const words = async () =>
    (await sql<{ body: string }>`select body from words where words match 'harbour'`.execute(db.tables())).rows;
  return { db, path, words };
}

test("a snapshot omits the tables of a full-text index, and loading its rows fills the index", async (t) => {
  const source = openIndexed(t);
  await migrate(source.db, [indexed]);
  await sql`insert into notes (body) values ('the harbour'), ('the bridge')`.execute(source.db.tables());
  const snapshot = await openRowSnapshot({ path: source.path });
  t.after(() => snapshot.close());
  assert.deepEqual(
    snapshot.tables.map(({ name }) => name),
    ["notes"],
  );
  const copy = openIndexed(t);
  await loadRows(copy.db, [indexed], {
    applied: snapshot.migrations,
    async *tables() {
      for (const table of snapshot.tables) yield { ...table, rows: snapshot.rows(table) };
    },
  });
  assert.deepEqual(await copy.words(), [{ body: "the harbour" }]);
});

test("a frozen database with a full-text index rejects writes until it is unfrozen", async (t) => {
  const { db, path, words } = openIndexed(t);
  await migrate(db, [indexed]);
  const insert = () => sql`insert into notes (body) values ('the harbour')`.execute(db.tables());
  freezeSqlite(path, "postgres://elsewhere");
  await assert.rejects(insert(), (err) => isStoreError(err, "moved"));
  unfreezeSqlite(path);
  await insert();
  assert.deepEqual(await words(), [{ body: "the harbour" }]);
});
