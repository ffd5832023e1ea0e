import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createTestFolder } from "./backup.testing.ts";
import { copySqlite, sqliteProblem } from "./sqlite-files.ts";

test("a database that was deleted after the folder was read is not recreated", async (t) => {
  const folder = createTestFolder(t);
  const missing = join(folder, "missing.sqlite");
  assert.deepEqual((await copySqlite(missing, join(folder, "copy.sqlite"))).suffixes, []);
  assert.ok(sqliteProblem(missing));
  assert.ok(!existsSync(missing));
});
