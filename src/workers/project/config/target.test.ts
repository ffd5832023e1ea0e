import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { DATE, folder, minimal } from "./read.testing.ts";
import { readProjectTarget } from "./target.ts";

const databases = (id: string) => `"d1_databases": [{ "binding": "DB", "database_id": "${id}" }]`;

test("reads the user's file although a build tool has generated another one, as wrangler's commands do", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, ${databases("one")} }`,
    ".wrangler/deploy/config.json": JSON.stringify({ configPath: "../../dist/wrangler.json" }),
    "dist/wrangler.json": `{ "name": "built", "compatibility_date": "${DATE}", ${databases("two")} }`,
  });
  const target = await readProjectTarget({ cwd: root });
  assert.deepEqual([target?.name, target?.userRoot], ["mail", root]);
  assert.deepEqual(
    target?.d1Databases.map(({ id, migrationsDir }) => [id, migrationsDir]),
    [["one", join(root, "migrations")]],
  );

  await rm(join(root, "wrangler.jsonc"));
  const generated = await readProjectTarget({ cwd: root });
  assert.deepEqual([generated?.name, generated?.userRoot], ["built", root]);
});

test("accepts assets without a directory, which a build tool adds to the configuration that it generates", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "assets": { "not_found_handling": "single-page-application" } }`,
  });
  assert.equal((await readProjectTarget({ cwd: root }))?.name, "mail");
});
