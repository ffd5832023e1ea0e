import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { onPostgres } from "../../../test/support/databases.ts";
import { startPostgresPair } from "../../../test/support/postgres-pair.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { isStoreError } from "../errors.ts";
import { openPostgresEvents } from "../events/postgres.ts";
import type { Db } from "./port.ts";
import { openPostgres } from "./postgres.ts";

interface Tables {
  numbers: { n: number };
}

const insert = (db: Db, n: number) => db.write(db.tables<Tables>().insertInto("numbers").values({ n }));
const numbers = async (db: Db) =>
  (await db.read(db.tables<Tables>().selectFrom("numbers").select("n").orderBy("n"))).map(({ n }) => n);

/** Writes ascending numbers one at a time until it is stopped. */
function startWriter(db: Db) {
  const acknowledged: number[] = [];
  const unknown: number[] = [];
  const failures = new Map<string, number>();
  const progress: { count: number; resolve(): void }[] = [];
  const stopping = new AbortController();
  const running = (async () => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      try {
        await insert(db, n);
        acknowledged.push(n);
      } catch (err) {
        assert.ok(isStoreError(err), String(err));
        if (err.kind === "outcomeUnknown") unknown.push(n);
        failures.set(err.kind, (failures.get(err.kind) ?? 0) + 1);
        await sleep(20);
      }
      for (const each of progress.splice(0))
        if (acknowledged.length >= each.count) each.resolve();
        else progress.push(each);
    }
  })();
  return {
    acknowledged,
    unknown,
    failures,
    /** Resolves after `count` more acknowledged writes. */
    more: (count: number) =>
      new Promise<void>((resolve) => progress.push({ count: acknowledged.length + count, resolve })),
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

onPostgres(() => {
  test("every acknowledged write survives a failover from a killed primary to its standby", async (t) => {
    const { primary, standby, urlOf } = await startPostgresPair(t);
    const db = await openPostgres({ url: urlOf(), connections: 4, replicated: true, timeout_seconds: 2 });
    t.after(() => db.close());
    await sql`create table numbers (n bigint primary key)`.execute(db.tables());
    const writer = startWriter(db);
    await writer.more(50);
    await primary.kill();
    await standby.promote();
    // The new primary has no standby yet.
    while (!writer.failures.has("notReplicated")) await sleep(5);
    await standby.query("alter system set synchronous_standby_names = 'any 1 (*)'");
    await standby.query("select pg_reload_conf()");
    // The old primary is first in the list of hosts. It restarts, and rejects writes.
    await primary.start("default_transaction_read_only = on");
    const relaxed = await openPostgres({ url: urlOf(), connections: 1 });
    t.after(() => relaxed.close());
    await writer.stop();
    const stored = new Set(await numbers(relaxed));
    assert.deepEqual(
      writer.acknowledged.filter((n) => !stored.has(n)),
      [],
    );
    // Any other stored write was reported as possibly stored.
    const reported = new Set([...writer.acknowledged, ...writer.unknown]);
    assert.deepEqual(
      [...stored].filter((n) => !reported.has(n)),
      [],
    );
    assert.ok(writer.acknowledged.length >= 50);
  });

  test("writes and events continue on the new primary after a switchover", async (t) => {
    const { primary, standby, urlOf } = await startPostgresPair(t);
    const db = await openPostgres({ url: urlOf(), connections: 4 });
    t.after(() => db.close());
    const events = await openPostgresEvents({ url: urlOf(), clock: systemClock, log: silentLog });
    t.after(() => events.close());
    const { promise: readAgain, resolve: lost } = Promise.withResolvers<void>();
    const { promise: received, resolve: receive } = Promise.withResolvers<void>();
    events.subscribe("topic", (id) => (id === "" ? lost() : receive()));
    await sql`create table numbers (n bigint primary key)`.execute(db.tables());
    const writer = startWriter(db);
    await writer.more(10);
    // The primary is demoted: its connections stay open, and it rejects every write.
    await primary.query("alter system set default_transaction_read_only = on");
    await primary.query("select pg_reload_conf()");
    await standby.promote();
    await standby.query("alter system set synchronous_standby_names = ''");
    await standby.query("select pg_reload_conf()");
    await writer.more(10);
    await writer.stop();
    // Rejected writes were repeated on the new primary: none was stored twice, and none has an unknown outcome.
    assert.deepEqual(writer.unknown, []);
    assert.deepEqual(await numbers(db), writer.acknowledged);
    await primary.kill();
    await readAgain;
    events.publish("topic", "1");
    await received;
  });

  test("abandons a server that stops responding within the time limit", async (t) => {
    const { primary, standby, urlOf } = await startPostgresPair(t);
    const db = await openPostgres({ url: urlOf(), connections: 4, timeout_seconds: 2 });
    t.after(() => db.close());
    await sql`create table numbers (n bigint primary key)`.execute(db.tables());
    await Promise.all([1, 2, 3].map((n) => insert(db, n)));
    primary.freeze();
    const startedAt = performance.now();
    await assert.rejects(insert(db, 4), (err) => isStoreError(err, "outcomeUnknown"));
    const transaction = db.transaction<Tables, void>(async (tx) => {
      await tx.insertInto("numbers").values({ n: 5 }).execute();
    });
    await assert.rejects(transaction, (err) => isStoreError(err, "databaseReadOnly"));
    assert.ok(performance.now() - startedAt < 60_000);
    await standby.promote();
    await standby.query("alter system set synchronous_standby_names = ''");
    await standby.query("select pg_reload_conf()");
    while (
      !(await insert(db, 6).then(
        () => true,
        () => false,
      ))
    );
    const stored = await numbers(db);
    assert.deepEqual(
      stored.filter((n) => n !== 4),
      [1, 2, 3, 6],
    );
  });

  test("does not acknowledge a commit that did not wait for its standby", async (t) => {
    const { primary, standby, urlOf } = await startPostgresPair(t);
    const db = await openPostgres({ url: urlOf(), connections: 2, replicated: true });
    t.after(() => db.close());
    await sql`create table numbers (n bigint primary key)`.execute(db.tables());
    await standby.kill();
    const written = assert.rejects(insert(db, 1), (err) => isStoreError(err, "outcomeUnknown"));
    const cancel =
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'reelpost'";
    while ((await primary.query(cancel)).length === 0) await sleep(10);
    await written;
  });
});

onPostgres((engine) => {
  describe("a server with a connection limit", () => {
    /** Creates a role that may open `limit` connections. */
    async function limited(url: string, db: Db, limit: number): Promise<string> {
      const role = `few_${new URL(url).pathname.slice(3)}`;
      await sql`${sql.raw(`create role ${role} login password 'few' connection limit ${limit}`)}`.execute(db.tables());
      return Object.assign(new URL(url), { username: role, password: "few" }).href;
    }

    test("serves all queries with the connections that the limit allows", async (t) => {
      const { db: admin, where } = await engine.open(t);
      const url = await limited((where as { url: string }).url, admin, 2);
      const db = await openPostgres({ url, connections: 8 });
      t.after(() => db.close());
      const work = Array.from({ length: 20 }, (_, n) =>
        db.transaction(async (tx) => (await sql<{ n: number }>`select ${n}::bigint as n`.execute(tx)).rows[0]!.n),
      );
      assert.deepEqual(
        await Promise.all(work),
        Array.from({ length: 20 }, (_, n) => n),
      );
    });

    test("rejects after a bounded wait, with an error that names the limit", async (t) => {
      const { db: admin, where } = await engine.open(t);
      const url = await limited((where as { url: string }).url, admin, 1);
      const db = await openPostgres({ url, connections: 8, timeout_seconds: 2 });
      t.after(() => db.close());
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>();
      const holder = db.transaction(async () => {
        opened();
        await released;
      });
      await isOpen;
      await assert.rejects(
        sql`select 1`.execute(db.tables()),
        (err) => isStoreError(err, "tooManyConnections") && /max_connections/.test(err.fix ?? ""),
      );
      release();
      await holder;
      await sql`select 1`.execute(db.tables());
    });
  });

  test("rejects a server without synchronous replication if `replicated` is set", async (t) => {
    const { where } = await engine.open(t);
    await assert.rejects(
      openPostgres({ url: (where as { url: string }).url, replicated: true }),
      (err) => isStoreError(err, "notReplicated") && /synchronous_standby_names/.test(err.message),
    );
  });

  test("verifies each new connection, including those opened after startup", async (t) => {
    const { db, where, another } = await engine.open(t);
    const { url } = where as { url: string };
    const changer = await another();
    const database = new URL(url).pathname.slice(1);
    await sql`alter database ${sql.raw(database)} set synchronous_commit = off`.execute(changer.tables());
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.execute(
      changer.tables(),
    );
    await assert.rejects(sql`select 1`.execute(db.tables()), (err) => isStoreError(err, "notDurable"));
  });

  test("cancels a query that exceeds the time limit, and keeps its connection", async (t) => {
    const { where } = await engine.open(t);
    const db = await openPostgres({ ...(where as { url: string }), connections: 1, timeout_seconds: 2 });
    t.after(() => db.close());
    const pid = async () =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db.tables())).rows[0]!.pid;
    const before = await pid();
    await assert.rejects(sql`select pg_sleep(30)`.execute(db.tables()), (err) => isStoreError(err, "busy"));
    assert.equal(await pid(), before);
    await db.withoutTimeLimit(() => sql`select pg_sleep(2.5)`.execute(db.tables()));
  });

  test("repeats a read after the loss of its connection, but not a write", async (t) => {
    const { db, another } = await engine.open(t);
    await sql`create table numbers (n bigint primary key)`.execute(db.tables());
    const killer = await another();
    const untilSleeping = async () => {
      const sleeping = sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      while ((await sleeping.execute(killer.tables())).rows.length === 0);
    };
    const endSleepers = async () => {
      const ended = sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      while ((await ended.execute(killer.tables())).rows.length === 0);
    };
    // The repeated read finds the row and does not sleep.
    const slowRead = sql<{
      n: number;
    }>`select 7::bigint as n from pg_sleep(case when exists (select from numbers) then 0 else 60 end)`.execute(
      db.tables(),
    );
    await untilSleeping();
    await insert(killer, 2);
    await endSleepers();
    assert.deepEqual((await slowRead).rows, [{ n: 7 }]);
    const slowWrite = sql`insert into numbers select 1 from pg_sleep(30)`.execute(db.tables());
    const rejected = assert.rejects(slowWrite, (err) => isStoreError(err, "outcomeUnknown"));
    await endSleepers();
    await rejected;
  });
});
