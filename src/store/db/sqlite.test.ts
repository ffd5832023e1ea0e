import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { sql } from "kysely";
import { isStoreError } from "../errors.ts";
import type { Db } from "./port.ts";
import { prepareQuery } from "./prepared-query.ts";
import { openSqlite } from "./sqlite.ts";

interface Tables {
  counters: { name: string; value: number };
}

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-sqlite-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(t: TestContext, more: { waitTimeoutMs?: number } = {}) {
  const path = join(temporary(t), "test.db");
  const db = openSqlite({ path, ...more });
  t.after(() => db.close());
  await sql`create table counters (name text primary key, value bigint not null)`.execute(db.tables());
  const set = (name: string, value = 0) =>
    db
      .tables<Tables>()
      .insertInto("counters")
      .values({ name, value })
      .onConflict((on) => on.column("name").doUpdateSet({ value }));
  return { db, path, set };
}

describe("SQLite", () => {
  test("keeps acknowledged writes with WAL and an fsync at each commit", async (t) => {
    const { db } = await open(t);
    // Not `select`, so that the statements run on the writing connection.
    const pragma = async (name: string) =>
      Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(db.tables())).rows[0]!)[0];
    assert.deepEqual(
      [await pragma("journal_mode"), await pragma("synchronous"), await pragma("foreign_keys")],
      ["wal", 2, 1],
    );
  });

  test("does not bind limits, because SQLite would compile the statement again on each execution", async (t) => {
    const { db, set } = await open(t);
    for (const name of ["a", "b", "c"]) await db.write(set(name));
    const names = (limit: number) =>
      db.tables<Tables>().selectFrom("counters").select("name").orderBy("name").limit(limit);
    const { sql: text, parameters } = names(2).compile();
    assert.match(text, /limit 2$/);
    assert.deepEqual(parameters, []);
    assert.deepEqual(await db.read(names(2)), [{ name: "a" }, { name: "b" }]);
    const prepared = prepareQuery<{ name: string }>((arg) => names(arg<number>("limit")));
    assert.match(prepared({ limit: 2 }).compile().sql, /limit \+\?$/);
    for (const limit of [0, 1, 3]) assert.equal((await db.read(prepared({ limit }))).length, limit);
  });

  test("is readable only by its owner, regardless of the folder's permissions", async (t) => {
    const { path } = await open(t);
    for (const suffix of ["", "-wal", "-shm"]) assert.equal(statSync(path + suffix).mode & 0o777, 0o600, suffix);
  });

  test("reports problems with the file", (t) => {
    const folder = temporary(t);
    const text = join(folder, "text");
    writeFileSync(text, "this is a letter, and not a database at all. ".repeat(100));
    mkdirSync(join(folder, "folder"));
    const cases = { notADatabase: text, cannotOpen: join(folder, "absent", "test.db") } as const;
    for (const [kind, path] of Object.entries(cases))
      assert.throws(
        () => openSqlite({ path }),
        (err) => isStoreError(err, kind as keyof typeof cases) && err.message.includes(path),
        kind,
      );
    assert.throws(
      () => openSqlite({ path: join(folder, "folder") }),
      (err) => isStoreError(err, "cannotOpen"),
    );
    assert.throws(
      () => openSqlite({ path: ":memory:" }),
      (err) => isStoreError(err, "notDurable") && /journal_mode/.test(err.message),
    );
  });

  test("concurrent writes share one commit", async (t) => {
    const { db, path, set } = await open(t);
    await Promise.all(Array.from({ length: 32 }, (_, n) => db.write(set(`c${n}`))));
    const walSize = () => statSync(`${path}-wal`).size;
    const before = walSize();
    await Promise.all(Array.from({ length: 32 }, (_, n) => db.write(set(`c${n}`, 1))));
    const together = walSize() - before;
    for (let n = 0; n < 32; n++) await db.write(set(`c${n}`, 2));
    const oneByOne = walSize() - before - together;
    // A commit writes each modified page once: here one or two.
    assert.ok(together <= oneByOne / 16, `${together} bytes of log together, ${oneByOne} one by one`);
  });

  test("runs every write exactly once if SQLite rolls back a shared commit", async (t) => {
    const { db, set } = await open(t);
    await db.write(set("taken"));
    await db.write(set("counter"));
    const more = db
      .tables<Tables>()
      .updateTable("counters")
      .set((eb) => ({ value: eb("value", "+", 1) }))
      .where("name", "=", "counter");
    // This conflict resolution rolls back the entire transaction (https://sqlite.org/lang_conflict.html), like a full
    // disk.
    const rollsBack = sql`insert or rollback into counters (name, value) values ('taken', 1)`;
    const outcomes = await Promise.allSettled([
      db.write(more),
      db.write({ compile: () => rollsBack.compile(db.tables()) } as never),
      db.write(more),
      db.write(set("last")),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled", "fulfilled"],
    );
    const rows = await db.tables<Tables>().selectFrom("counters").select(["name", "value"]).orderBy("name").execute();
    assert.deepEqual(rows, [
      { name: "counter", value: 2 },
      { name: "last", value: 0 },
      { name: "taken", value: 0 },
    ]);
  });

  test("waits for another process without blocking the event loop, then continues", async (t) => {
    const { db, path, set } = await open(t);
    const other = new DatabaseSync(path);
    t.after(() => other.close());
    other.exec("begin immediate");
    const writes = [
      db.write(set("a")),
      set("b").execute(),
      db.transaction<Tables, unknown>((tx) => tx.insertInto("counters").values({ name: "c", value: 0 }).execute()),
    ];
    let ticks = 0;
    const ticking = setInterval(() => {
      if (++ticks === 20) other.exec("commit");
    }, 5);
    await Promise.all(writes);
    clearInterval(ticking);
    assert.ok(ticks >= 20);
    assert.equal((await db.tables<Tables>().selectFrom("counters").selectAll().execute()).length, 3);
  });

  test("two users of one file increment a counter without losing an update", async (t) => {
    const { db, path, set } = await open(t);
    const other = openSqlite({ path, isShared: true });
    t.after(() => other.close());
    await db.write(set("a"));
    const increment = (user: Db) =>
      user.transaction<Tables, unknown>(async (tx) => {
        const { value } = await tx
          .selectFrom("counters")
          .select("value")
          .where("name", "=", "a")
          .executeTakeFirstOrThrow();
        await new Promise(setImmediate);
        return tx
          .updateTable("counters")
          .set({ value: value + 1 })
          .where("name", "=", "a")
          .execute();
      });
    await Promise.all(Array.from({ length: 50 }, (_, n) => increment(n % 2 === 0 ? db : other)));
    const [row] = await other.read(db.tables<Tables>().selectFrom("counters").selectAll());
    assert.equal(row!.value, 50);
  });

  test("gives up on another process after a timeout, and recovers when the lock is released", async (t) => {
    const { db, path, set } = await open(t, { waitTimeoutMs: 60 });
    const other = new DatabaseSync(path);
    t.after(() => other.close());
    other.exec("begin immediate");
    const outcomes = await Promise.allSettled([db.write(set("a")), set("b").execute()]);
    for (const outcome of outcomes) assert.ok(outcome.status === "rejected" && isStoreError(outcome.reason, "busy"));
    other.exec("rollback");
    await db.write(set("c"));
    assert.deepEqual(await db.tables<Tables>().selectFrom("counters").select("name").execute(), [{ name: "c" }]);
  });

  test("queues 20,000 writes and rejects the next one", async (t) => {
    const { db, set } = await open(t);
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = db.transaction<Tables, void>(async () => (begun.resolve(), mayEnd));
    await begun.promise;
    const compiled = set("a").compile();
    const waiting = Array.from({ length: 20_000 }, () => db.write({ compile: () => compiled } as never));
    await assert.rejects(
      db.write(set("b")),
      (err) => isStoreError(err, "busy") && /20000 writes are waiting/.test(err.message),
    );
    letEnd();
    await Promise.all([holding, ...waiting]);
    await db.write(set("c"));
  });

  test("does not wait forever for a transaction that never ends", async (t) => {
    const { db, set } = await open(t, { waitTimeoutMs: 60 });
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>();
    const endless = db.transaction<Tables, void>(() => mayEnd);
    await assert.rejects(
      set("a").execute(),
      (err) => isStoreError(err, "busy") && /open for more than 60 ms/.test(err.message),
    );
    // Reads are unaffected.
    assert.deepEqual(await db.tables<Tables>().selectFrom("counters").selectAll().execute(), []);
    letEnd();
    await endless;
    await db.write(set("b"));
  });

  test("runs raw reads outside an open transaction, and raw writes in the queue", async (t) => {
    const { db, set } = await open(t);
    await db.write(set("a", 1));
    await db.transaction(async (tx) => {
      await sql`update counters set value = 2`.execute(tx);
      assert.deepEqual((await sql`select value from counters`.execute(db.tables())).rows, [{ value: 1 }]);
      assert.deepEqual((await sql`select value from counters`.execute(tx)).rows, [{ value: 2 }]);
    });
    await sql`with gone as (select 'a' as name) delete from counters where name in (select name from gone)`.execute(
      db.tables(),
    );
    assert.deepEqual((await sql`select value from counters`.execute(db.tables())).rows, []);
  });

  test("bounds the number of prepared statements", async (t) => {
    const { db } = await open(t);
    for (let n = 0; n < 1200; n++) {
      const { rows } = await sql<{ n: number }>`select ${sql.lit(n)} as n`.execute(db.tables());
      assert.equal(rows[0]!.n, n);
    }
  });
});
