import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { onPostgres } from "../../../test/support/databases.ts";
import { createTrigramExtension, trigramQuery } from "./trigrams.ts";

test("a query has the distinct trigrams of a text, quoted, and no more than 24", () => {
  assert.equal(trigramQuery("ab"), undefined);
  assert.equal(trigramQuery("🎬🎬"), undefined);
  assert.equal(trigramQuery("aaaa"), '"aaa"');
  assert.equal(trigramQuery('a"b🎬'), '"a""b" AND """b🎬"');
  const long = trigramQuery(Array.from({ length: 500 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(""))!;
  assert.equal(long.split(" AND ").length, 24);
});

onPostgres((engine) => {
  test("a user who may not create the extension gets no operators, and the transaction continues", async (t) => {
    const { db } = await engine.open(t);
    const found = await db
      .tables()
      .transaction()
      .execute(async (tx) => {
        await sql`set local role pg_monitor`.execute(tx);
        return [await createTrigramExtension(tx), (await sql`select 1 as one`.execute(tx)).rows];
      });
    assert.deepEqual(found, [undefined, [{ one: 1 }]]);
    assert.equal(await createTrigramExtension(db.tables()), "public.gin_trgm_ops");
  });
});
