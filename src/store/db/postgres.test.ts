import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { onPostgres } from "../../../test/support/databases.ts";
import { isStoreError } from "../errors.ts";
import { openPostgres } from "./postgres.ts";

onPostgres((engine) => {
  test("reports an unreachable server without revealing the password", async (t) => {
    const { where } = await engine.open(t);
    const url = new URL((where as { url: string }).url);
    const password = "very-secret";
    const wrong = {
      "no listener": `postgres://user:${password}@127.0.0.1:1/db`,
      "wrong password": Object.assign(new URL(url), { password }).href,
      "no such database": Object.assign(new URL(url), { pathname: "/absent" }).href,
      "not a URL": password,
      "another protocol": `mysql://user:${password}@localhost/db`,
    };
    for (const [name, bad] of Object.entries(wrong)) {
      await assert.rejects(
        openPostgres({ url: bad }),
        (err) =>
          isStoreError(err, "unreachable") && !err.message.includes(password) && !err.message.includes(url.password),
        name,
      );
    }
  });

  test("rejects a server that may lose acknowledged commits", async (t) => {
    const { db, where } = await engine.open(t);
    const { url } = where as { url: string };
    await sql`alter database ${sql.raw(new URL(url).pathname.slice(1))} set synchronous_commit = off`.execute(
      db.tables(),
    );
    await assert.rejects(
      openPostgres({ url }),
      (err) => isStoreError(err, "notDurable") && /synchronous_commit/.test(err.message),
    );
  });

  test("survives the loss of every connection", async (t) => {
    const { db, another } = await engine.open(t);
    await sql`create table counters (name text primary key)`.execute(db.tables());
    const killer = await another();
    const killAll = sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
    const inTheMiddle = db.transaction<{ counters: { name: string } }, void>(async (tx) => {
      await tx.insertInto("counters").values({ name: "lost" }).execute();
      begin();
      await killed;
      await tx.insertInto("counters").values({ name: "lost too" }).execute();
    });
    await begun;
    await killAll.execute(killer.tables());
    kill();
    await assert.rejects(inTheMiddle);
    // One query may still use a dead connection.
    const alive = async () => (await sql`select name from counters`.execute(db.tables())).rows;
    assert.deepEqual(await alive().catch(alive), []);
  });

  test("limits the number of connections", async (t) => {
    const { where } = await engine.open(t);
    const db = await openPostgres({ ...(where as { url: string }), connections: 2 });
    t.after(() => db.close());
    const connections = sql<{
      n: number;
    }>`select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'reelpost'`;
    const counts = await Promise.all(
      Array.from({ length: 12 }, () => db.transaction(async (tx) => (await connections.execute(tx)).rows[0]!.n)),
    );
    // Two connections of the pool, and one of the test engine.
    assert.ok(Math.max(...counts) <= 3, String(counts));
  });
});
