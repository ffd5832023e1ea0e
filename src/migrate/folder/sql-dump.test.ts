import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test, type TestContext } from "node:test";
import { loadSqlDump } from "./sql-dump.ts";

async function load(t: TestContext, sql: string) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-dump-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "dump.sql"), sql);
  const db = await loadSqlDump(join(folder, "dump.sql"), join(folder, "loaded.db"));
  t.after(() => db.close());
  return db;
}

test("string literals, comments and triggers may contain semicolons, quotes and line breaks", async (t) => {
  const db = await load(
    t,
    `PRAGMA defer_foreign_keys=TRUE;
CREATE TABLE "a;
b" (id INTEGER PRIMARY KEY, -- it's a number;
  text TEXT /* "quoted; */);
INSERT INTO "a;
b" VALUES(1,'it''s;
two lines;'),(2,'"');
CREATE TABLE log (n);
CREATE TRIGGER t AFTER INSERT ON log BEGIN
  UPDATE log SET n = n + 1;
  DELETE FROM log WHERE n = 5;
END;
INSERT INTO log VALUES(1);
INSERT INTO log VALUES(4)`,
  );
  assert.deepEqual(
    db
      .prepare('SELECT id, text FROM "a;\nb"')
      .all()
      .map((row) => ({ ...row })),
    [
      { id: 1, text: "it's;\ntwo lines;" },
      { id: 2, text: '"' },
    ],
  );
  assert.deepEqual(
    db
      .prepare("SELECT n FROM log")
      .all()
      .map(({ n }) => n),
    [3],
  );
});

test("a dump cannot open other files, and error messages include the line number", async (t) => {
  const other = join(tmpdir(), `reelpost-attached-${process.pid}.db`);
  await assert.rejects(load(t, `CREATE TABLE a (b);\nATTACH DATABASE '${other}' AS x;\n`), /line 2: not authorized/);
  assert.equal(existsSync(other), false);
  await assert.rejects(load(t, "CREATE TABLE a (b);\nINSERT INTO c VALUES(1);\n"), /line 2: no such table: c/);
  await assert.rejects(load(t, "CREATE TABLE a (b);\nINSERT INTO a VALUES('open);\n"), /line 2/);
});
