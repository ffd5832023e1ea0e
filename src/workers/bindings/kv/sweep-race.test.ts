import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { untilBlocked } from "../../../../test/support/blocked.ts";
import { onPostgres } from "../../../../test/support/databases.ts";
import { createKvTable, type KvRow, kvMigrations } from "./kv-table.ts";

const NOW = 1_000_000;

onPostgres((engine) =>
  test("the sweep does not delete a key that is rewritten while it waits for the row lock", async (t) => {
    const { db, another } = await engine.open(t, kvMigrations);
    const key = Buffer.from("key");
    const row: KvRow = {
      namespace: "n",
      key,
      expiresAt: NOW - 1,
      metadata: null,
      size: 1,
      objectKey: null,
      value: Buffer.from("v"),
    };
    await createKvTable(db).put(row);
    const sweeper = createKvTable(await another());
    let sweeping: Promise<{ count: number }> | undefined;
    await db.transaction(async (tx) => {
      await sql`update kv_entries set expires_at = null where namespace_id = 'n'`.execute(tx);
      sweeping = sweeper.deleteExpired(NOW, 100);
      await untilBlocked(db);
    });
    assert.equal((await sweeping)!.count, 0);
    assert.equal(String(Buffer.from((await createKvTable(db).get("n", key, NOW))!.value!)), "v");
  }),
);
