import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { onPostgres } from "../../../test/support/databases.ts";
import { isPgbouncerAvailable, startPgbouncer } from "../../../test/support/pgbouncer.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { migrate } from "../db/migrate.ts";
import { openPostgres } from "../db/postgres.ts";
import { openPostgresEvents } from "./postgres.ts";

const skip = isPgbouncerAvailable() ? false : "PgBouncer is not installed";

onPostgres((engine) => {
  test("PgBouncer in session mode supports events, migrations and transactions", { skip }, async (t) => {
    const { where } = await engine.open(t);
    const url = await startPgbouncer(t, (where as { url: string }).url);
    const db = await openPostgres({ url, connections: 3 });
    t.after(() => db.close());
    const up = async () => void (await sql`create table things (n bigint)`.execute(db.tables()));
    assert.deepEqual(await migrate(db, [{ name: "things", up }]), ["things"]);
    const events = await openPostgresEvents({ url, clock: systemClock, log: silentLog });
    t.after(() => events.close());
    const { promise: received, resolve: receive } = Promise.withResolvers<string>();
    events.subscribe("topic", receive);
    events.publish("topic", "1");
    assert.equal(await received, "1");
    const one = await db.transaction(async (tx) => (await sql<{ n: number }>`select 1 as n`.execute(tx)).rows);
    assert.deepEqual(one, [{ n: 1 }]);
  });
});
