import assert from "node:assert/strict";
import { test } from "node:test";
import { restrictiveStatements, statementsOf } from "../../test/support/schema-changes.ts";
import { migrations } from "./migrations.ts";

test("a migration only adds to the schema, or declares which older versions it is compatible with", async () => {
  for (const migration of migrations) {
    if (migration.olderVersions !== undefined && migration.olderVersions !== "any") continue;
    assert.deepEqual(
      restrictiveStatements(await statementsOf(migration)),
      [],
      `${migration.name}: older versions may fail on this schema; set olderVersions`,
    );
  }
});

test("a migration comes after the one that its `olderVersions` names", () => {
  const earlier = new Set<string>();
  for (const { name, olderVersions } of migrations) {
    if (typeof olderVersions === "object") assert.ok(earlier.has(olderVersions.since), name);
    earlier.add(name);
  }
});

test("detects removals, renames, new constraints and changed rows", () => {
  const restrictive = [
    'alter table "videos" drop column "old"',
    'alter table "videos" rename to "clips"',
    'alter table "videos" rename column "a" to "b"',
    'drop table "videos"',
    'drop index "videos_by_name"',
    'alter table "videos" add column "required" text not null',
    'create unique index "one_name" on "videos" ("name")',
    'update "videos" set "state" = ?',
    'delete from "videos"',
    'create trigger "frozen" before insert on "videos" begin select raise(abort, \'frozen\'); end',
  ];
  const additive = [
    'create table "clips" ("id" text primary key)',
    'create unique index "clip_names" on "clips" ("name")',
    'insert into "clips" select "id" from "videos"',
    'create index "videos_by_age" on "videos" ("age")',
    'create virtual table "names" using fts5(name)',
    'create trigger "named" after insert on "videos" begin insert into "names" values (new."name"); end',
    'alter table "videos" add column "note" text',
    'alter table "videos" add column "count" bigint default 0 not null',
  ];
  assert.deepEqual(restrictiveStatements([...additive, ...restrictive]), restrictive);
});
