import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents, openPostgresEvents, type Db, type Events } from "../../store/index.ts";
import type { TailLimits } from "./limits.ts";
import { createTails, type TailsOptions } from "./tails.ts";
import { tailMigrations } from "./tails-table.ts";
import { ACCOUNT, fakeReader, fakeRuntime, logOf } from "./tails.testing.ts";

const SCRIPT = "mailer";

/** Behavior of tails on every database engine, within one process and across several. */
export function tailsConformance(engine: TestEngine): void {
  /** Starts `processes` processes on one database. The clock only moves when a test advances it. */
  async function open(
    t: TestContext,
    {
      processes = 1,
      limits = {},
      mayRead,
    }: { processes?: number; limits?: Partial<TailLimits>; mayRead?: TailsOptions["mayRead"] } = {},
  ) {
    const { db, another, where } = await engine.open(t, tailMigrations);
    const clock = createManualClock(1_800_000_000_000);
    const local = createLocalEvents({ log: silentLog });
    const opened: { close(): Promise<void> }[] = [local];
    const ends: { db: Db; events: Events }[] = [];
    for (let i = 0; i < processes; i++) {
      const events =
        "url" in where ? await openPostgresEvents({ url: where.url, clock: systemClock, log: silentLog }) : local;
      if (events !== local) opened.push(events);
      ends.push({ db: i === 0 || "path" in where ? db : await another(), events });
    }
    const nodes = ends.map((end) => {
      const tails = createTails({ ...end, clock, ids: randomIds, log: silentLog, limits, ...(mayRead && { mayRead }) });
      const runtime = fakeRuntime();
      tails.watch(runtime);
      return { tails, runtime };
    });
    // A scope runs its cleanups in the order of registration: the engine's databases would already be closed.
    const close = async () => {
      for (const { tails } of nodes) await tails.close();
      for (const each of opened) await each.close();
    };
    return { nodes, clock, db, close };
  }

  /** Runs a test on open tails and closes them before their database is deleted. */
  const tailsTest = (
    name: string,
    options: Parameters<typeof open>[1],
    run: (parts: Awaited<ReturnType<typeof open>>) => Promise<void>,
  ) =>
    test(name, async (t) => {
      const parts = await open(t, options);
      try {
        await run(parts);
      } finally {
        await parts.close();
      }
    });

  tailsTest(
    "a reader immediately receives the records of its script that pass its filters",
    {},
    async ({ nodes: [node] }) => {
      const { tails, runtime } = node!;
      const { id } = await tails.create(ACCOUNT, SCRIPT, { filters: [{ outcome: ["exception"] }] });
      const reader = fakeReader();
      await tails.read(id, reader.connection);
      runtime.emit();
      runtime.emit({ outcome: "exception", exception: { name: "Error", message: "one" } });
      runtime.emit({ outcome: "exception", script: "other" });
      runtime.emit({ outcome: "exception", account: "b".repeat(32) });
      assert.deepEqual(
        reader.traces.map(({ outcome, scriptName, exceptions }) => [outcome, scriptName, exceptions[0]?.message]),
        [["exception", SCRIPT, "one"]],
      );
    },
  );

  tailsTest(
    "records between the start of a tail and the connection of its reader are not lost",
    {},
    async ({ nodes: [node] }) => {
      const { tails, runtime } = node!;
      const { id } = await tails.create(ACCOUNT, SCRIPT, {});
      for (let i = 0; i < 250; i++) runtime.emit({ logs: logOf(i) });
      const reader = fakeReader();
      await tails.read(id, reader.connection);
      await reader.got(250);
      assert.deepEqual(
        reader.logged(),
        Array.from({ length: 250 }, (_, i) => i),
      );
    },
  );

  tailsTest("a tail follows its worker when it is renamed", { processes: 2 }, async ({ nodes, db }) => {
    const [one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    const { id } = await one.tails.create(ACCOUNT, SCRIPT, {});
    const other = await one.tails.create(ACCOUNT, "other", {});
    const reader = fakeReader();
    await one.tails.read(id, reader.connection);
    const announce = await db.transaction((tx) =>
      one.tails.references.rename(tx, { account: ACCOUNT, from: SCRIPT, to: "renamed" }),
    );
    await announce();
    await two.tails.beat();
    one.runtime.emit({ logs: logOf("former name") });
    one.runtime.emit({ script: "renamed", logs: logOf("one") });
    two.runtime.emit({ script: "renamed", logs: logOf("two") });
    await reader.got(2);
    assert.deepEqual(reader.logged().sort(), ["one", "two"]);
    assert.deepEqual(
      await Promise.all([SCRIPT, "renamed", "other"].map(async (name) => (await one.tails.list(ACCOUNT, name)).length)),
      [0, 1, 1],
    );
    assert.equal((await one.tails.list(ACCOUNT, "other"))[0]!.id, other.id);
  });

  tailsTest("records from another process arrive, in order", { processes: 3 }, async ({ nodes }) => {
    const [api, one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]];
    const { id } = await api.tails.create(ACCOUNT, SCRIPT, { filters: [{ query: "yes" }] });
    const reader = fakeReader();
    await api.tails.read(id, reader.connection);
    // The other processes are notified later.
    await Promise.all([one, two].map(({ tails }) => tails.beat()));
    for (let i = 0; i < 120; i++) {
      one.runtime.emit({ logs: logOf("yes", "one", i) });
      two.runtime.emit({ logs: logOf(i % 2 === 0 ? "yes" : "no", "two", i) });
    }
    await reader.got(180);
    const of = (name: string) =>
      reader.traces
        .map(({ logs }) => logs[0]!.message)
        .filter(([, who]) => who === name)
        .map(([, , i]) => i);
    assert.deepEqual(
      of("one"),
      Array.from({ length: 120 }, (_, i) => i),
    );
    assert.deepEqual(
      of("two"),
      Array.from({ length: 60 }, (_, i) => 2 * i),
    );
  });

  tailsTest(
    "ending a tail closes its reader in any process, and later records are discarded",
    { processes: 2 },
    async ({ nodes }) => {
      const [api, holder] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
      const { id } = await api.tails.create(ACCOUNT, SCRIPT, {});
      const reader = fakeReader();
      await holder.tails.read(id, reader.connection);
      assert.equal(await api.tails.delete("b".repeat(32), SCRIPT, id), false);
      assert.equal(await api.tails.delete(ACCOUNT, "other", id), false);
      assert.equal(await api.tails.delete(ACCOUNT, SCRIPT, id), true);
      await reader.closed();
      holder.runtime.emit();
      assert.deepEqual(reader.traces, []);
      assert.equal(await api.tails.delete(ACCOUNT, SCRIPT, id), false);
      assert.equal(await api.tails.read(id, fakeReader().connection), undefined);
    },
  );

  const revoked = new Set<string>();
  const requested: unknown[] = [];
  tailsTest(
    "a tail ends with its token in every process and cannot be reopened",
    { processes: 2, mayRead: async (tail) => (requested.push(tail), !revoked.has(tail.token)) },
    async ({ nodes, clock }) => {
      const [api, holder] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
      const { id } = await api.tails.create(ACCOUNT, SCRIPT, { token: "one" });
      const other = await api.tails.create(ACCOUNT, SCRIPT, { token: "two" });
      const [reader, unread, stays] = [fakeReader(), fakeReader(), fakeReader()];
      await holder.tails.read(id, reader.connection);
      await holder.tails.read(other.id, stays.connection);
      assert.deepEqual(requested[0], { token: "one", account: ACCOUNT, createdAt: clock.now() });
      await holder.tails.recheck();
      revoked.add("one");
      assert.equal(await holder.tails.read(id, unread.connection), undefined);
      await api.tails.recheck();
      await reader.closed();
      assert.deepEqual(
        (await api.tails.list(ACCOUNT, SCRIPT)).map((tail) => tail.id),
        [other.id],
      );
      // The other token expires, which triggers no event.
      revoked.add("two");
      await holder.tails.beat();
      await stays.closed();
      assert.deepEqual(await api.tails.list(ACCOUNT, SCRIPT), []);
    },
  );

  tailsTest("deleting a worker ends its tails", {}, async ({ nodes: [node] }) => {
    const { tails } = node!;
    const { id } = await tails.create(ACCOUNT, SCRIPT, {});
    const other = await tails.create(ACCOUNT, "other", {});
    const reader = fakeReader();
    await tails.read(id, reader.connection);
    await tails.deleteAll(ACCOUNT, SCRIPT);
    await reader.closed();
    assert.deepEqual(
      [(await tails.list(ACCOUNT, SCRIPT)).length, (await tails.list(ACCOUNT, "other")).map((tail) => tail.id)],
      [0, [other.id]],
    );
  });

  tailsTest(
    "a tail lasts while it is being read, and a few hours longer",
    { limits: { ttlMs: 3600_000 } },
    async ({ nodes: [node], clock }) => {
      const { tails, runtime } = node!;
      const read = await tails.create(ACCOUNT, SCRIPT, {});
      const left = await tails.create(ACCOUNT, SCRIPT, {});
      assert.equal(left.expiresAt.getTime(), clock.now() + 3600_000);
      const [reader, leaver] = [fakeReader(), fakeReader()];
      await tails.read(read.id, reader.connection);
      (await tails.read(left.id, leaver.connection))!.closed();
      for (let minute = 0; minute < 90; minute++) {
        clock.advance(60_000);
        await tails.beat();
      }
      assert.deepEqual(
        (await tails.list(ACCOUNT, SCRIPT)).map(({ id, expiresAt }) => [id, expiresAt.getTime()]),
        [[read.id, clock.now() + 3600_000]],
      );
      runtime.emit();
      assert.deepEqual([reader.traces.length, leaver.traces.length], [1, 0]);
    },
  );

  tailsTest(
    "a reader that misses heartbeats for too long is closed",
    { limits: { ttlMs: 3600_000 } },
    async ({ nodes: [node], clock }) => {
      const { tails } = node!;
      const { id } = await tails.create(ACCOUNT, SCRIPT, {});
      const reader = fakeReader();
      await tails.read(id, reader.connection);
      clock.advance(3600_000);
      await tails.beat();
      await reader.closed();
      assert.deepEqual(await tails.list(ACCOUNT, SCRIPT), []);
    },
  );

  tailsTest(
    "a script has up to ten tails with readers; tails without readers are replaced",
    {},
    async ({ nodes: [node], clock }) => {
      const { tails } = node!;
      for (let i = 0; i < 10; i++) await tails.create(ACCOUNT, SCRIPT, {});
      await assert.rejects(tails.create(ACCOUNT, SCRIPT, {}), { code: 10058 });
      await tails.create(ACCOUNT, "other", {});
      const [newest] = await tails.list(ACCOUNT, SCRIPT);
      await tails.read(newest!.id, fakeReader().connection);
      clock.advance(150_000);
      await tails.beat();
      clock.advance(60_000);
      const next = await tails.create(ACCOUNT, SCRIPT, {});
      assert.deepEqual(
        (await tails.list(ACCOUNT, SCRIPT)).map(({ id }) => id),
        [next.id, newest!.id],
      );
    },
  );

  tailsTest("nothing is stored for a tail without readers", {}, async ({ nodes: [node], clock, db }) => {
    const { tails, runtime } = node!;
    const { id } = await tails.create(ACCOUNT, SCRIPT, {});
    const count = async () =>
      (await db.tables<{ tail_records: { tail_id: string } }>().selectFrom("tail_records").selectAll().execute())
        .length;
    const otherReader = fakeReader();
    const other = await tails.create(ACCOUNT, "other", {});
    runtime.emit();
    runtime.emit({ script: "other", logs: logOf("there") });
    await tails.read(other.id, otherReader.connection);
    // Records are written in batches: once the other tail's record has arrived, the earlier ones are in the table as
    // well.
    await otherReader.got(1);
    assert.equal(await count(), 1);
    clock.advance(61_000);
    await tails.beat();
    assert.equal(await count(), 0);
    clock.advance(120_000);
    runtime.emit();
    runtime.emit({ script: "other", logs: logOf("read") });
    await otherReader.got(2);
    const reader = fakeReader();
    await tails.read(id, reader.connection);
    runtime.emit({ logs: logOf("now") });
    await reader.got(1);
    assert.deepEqual(reader.logged(), ["now"]);
  });

  tailsTest(
    "the number of stored records is limited, and the reader is notified of missing ones",
    { limits: { bufferRecords: 5 } },
    async ({ nodes: [node], clock }) => {
      const { tails, runtime } = node!;
      const { id } = await tails.create(ACCOUNT, SCRIPT, {});
      for (let i = 0; i < 12; i++) runtime.emit({ logs: logOf(i) });
      clock.advance(60_000);
      runtime.emit({ logs: logOf("later") });
      const reader = fakeReader();
      await tails.read(id, reader.connection);
      await reader.got(7);
      assert.deepEqual(
        reader.traces.map(({ event, logs }) =>
          event !== null && "message" in event ? event.message.slice(0, 14) : logs[0]!.message[0],
        ),
        [0, 1, 2, 3, 4, "7 records were", "later"],
      );
    },
  );

  tailsTest(
    "a stalled reader has a bounded queue, and a new reader replaces it",
    { limits: { queueRecords: 3 } },
    async ({ nodes: [node] }) => {
      const { tails, runtime } = node!;
      const { id } = await tails.create(ACCOUNT, SCRIPT, {});
      const slow = fakeReader();
      slow.block(true);
      const reading = await tails.read(id, slow.connection);
      for (let i = 0; i < 10; i++) runtime.emit({ logs: logOf(i) });
      assert.equal(slow.traces.length, 1);
      slow.block(false);
      reading!.drained();
      assert.deepEqual(
        [slow.logged(), slow.traces.at(-1)!.event],
        [
          [0, 1, 2, 3],
          {
            type: "overload",
            message:
              "6 records were dropped: they arrived faster than they were read. Use a filter or a sampling rate to receive fewer.",
          },
        ],
      );
      const next = fakeReader();
      await tails.read(id, next.connection);
      await slow.closed();
      reading!.closed();
      runtime.emit();
      assert.deepEqual([slow.traces.length, next.traces.length], [5, 1]);
    },
  );

  tailsTest(
    "the number of readers of one process is limited",
    { limits: { readers: 1 } },
    async ({ nodes: [node] }) => {
      const { tails } = node!;
      const [one, two] = [await tails.create(ACCOUNT, SCRIPT, {}), await tails.create(ACCOUNT, SCRIPT, {})];
      const reading = await tails.read(one.id, fakeReader().connection);
      await assert.rejects(tails.read(two.id, fakeReader().connection), { code: 10013 });
      reading!.closed();
      assert.notEqual(await tails.read(two.id, fakeReader().connection), undefined);
    },
  );
}
