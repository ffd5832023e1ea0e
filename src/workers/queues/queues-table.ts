import { sql, type Kysely } from "kysely";
import { offsetOf, type PageRequest } from "../../kernel/index.ts";
import { isUniqueViolation, prepareQuery, type Db } from "../../store/index.ts";
import type { ScriptRename } from "../scripts/references.ts";
import type { ConsumerRow, QueueRow, QueueTables } from "./schema.ts";

/** Queries for queues and their consumers. */
export type QueuesTable = ReturnType<typeof createQueuesTable>;

export type QueueWithConsumer = QueueRow & { consumer: ConsumerRow | undefined };

type CreateResult = { row: QueueRow; created: boolean } | "too many";

export function createQueuesTable(db: Db) {
  const tables = db.tables<QueueTables>();
  const byName = prepareQuery((arg) =>
    tables
      .selectFrom("queues")
      .selectAll()
      .where("account_id", "=", arg<string>("account"))
      .where("name", "=", arg<string>("name")),
  );

  async function withConsumers(rows: QueueRow[]): Promise<QueueWithConsumer[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const consumers = await db.read(tables.selectFrom("queue_consumers").selectAll().where("queue_id", "in", ids));
    const byQueue = new Map(consumers.map((consumer) => [consumer.queue_id, consumer]));
    return rows.map((row) => ({ ...row, consumer: byQueue.get(row.id) }));
  }

  async function withQueue(consumer: ConsumerRow): Promise<QueueWithConsumer | undefined> {
    const [queue] = await db.read(tables.selectFrom("queues").selectAll().where("id", "=", consumer.queue_id));
    return queue && { ...queue, consumer };
  }

  /** Queues that have due messages, are consumed by a worker, are not paused, and are not leased for delivery. */
  const ready = (now: number) =>
    tables
      .selectFrom("queue_consumers")
      .innerJoin("queues", "queues.id", "queue_consumers.queue_id")
      .where("queue_consumers.type", "=", "worker")
      .where("queue_consumers.owner_until", "<=", now)
      .where("queues.delivery_paused", "=", 0)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom("queue_messages")
            .select("queue_messages.id")
            .whereRef("queue_messages.queue_id", "=", "queue_consumers.queue_id")
            .where("queue_messages.due_at", "<=", now),
        ),
      );

  return {
    /**
     * Inserts a queue. Resolves with the new row, with the existing row of that name, or with "too many" if the account
     * has reached its limit.
     */
    create: (row: QueueRow, maxQueues: number): Promise<CreateResult> =>
      db.transaction<QueueTables, CreateResult>(async (tx) => {
        const existingQueue = await tx
          .selectFrom("queues")
          .selectAll()
          .where("account_id", "=", row.account_id)
          .where("name", "=", row.name)
          .executeTakeFirst();
        if (existingQueue !== undefined) return { row: existingQueue, created: false };
        const { count } = await tx
          .selectFrom("queues")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("account_id", "=", row.account_id)
          .executeTakeFirstOrThrow();
        if (Number(count) >= maxQueues) return "too many";
        await tx.insertInto("queues").values(row).execute();
        return { row, created: true };
      }),

    async findByName(account: string, name: string): Promise<QueueRow | undefined> {
      return (await db.read(byName({ account, name })))[0];
    },

    async find(account: string, id: string): Promise<QueueWithConsumer | undefined> {
      const rows = await db.read(
        tables.selectFrom("queues").selectAll().where("id", "=", id).where("account_id", "=", account),
      );
      return (await withConsumers(rows))[0];
    },

    /** Returns queues ordered by name; with `names`, only those. */
    async page(
      account: string,
      names: readonly string[] | undefined,
      page: PageRequest,
    ): Promise<{ items: QueueWithConsumer[]; total: number }> {
      let query = tables.selectFrom("queues").where("account_id", "=", account);
      if (names !== undefined) query = query.where("name", "in", names);
      const [countRow] = await db.read(query.select((eb) => eb.fn.countAll<number>().as("count")));
      const rows = await db.read(query.selectAll().orderBy("name").limit(page.perPage).offset(offsetOf(page)));
      return { items: await withConsumers(rows), total: Number(countRow?.count ?? 0) };
    },

    /** Resolves with true if the queue exists, or with "name taken". */
    async update(id: string, values: Partial<QueueRow>): Promise<boolean | "name taken"> {
      try {
        return (await db.write(tables.updateTable("queues").set(values).where("id", "=", id))).affected === 1;
      } catch (err) {
        if (isUniqueViolation(err)) return "name taken";
        throw err;
      }
    },

    /** Deletes a queue and its consumer. The caller deletes the messages. */
    async delete(account: string, id: string): Promise<boolean> {
      return db.transaction<QueueTables, boolean>(async (tx) => {
        const deletedQueue = await tx
          .deleteFrom("queues")
          .where("id", "=", id)
          .where("account_id", "=", account)
          .returning("id")
          .execute();
        await tx.deleteFrom("queue_consumers").where("queue_id", "=", id).execute();
        return deletedQueue.length === 1;
      });
    },

    /** Resolves with false if the queue already has a consumer. */
    async addConsumer(row: ConsumerRow): Promise<boolean> {
      try {
        await db.write(tables.insertInto("queue_consumers").values(row));
        return true;
      } catch (err) {
        if (isUniqueViolation(err)) return false;
        throw err;
      }
    },

    /** Keeps the lease of a running delivery. Resolves with false if the consumer does not exist. */
    async updateConsumer(
      { id, queue_id }: Pick<ConsumerRow, "id" | "queue_id">,
      values: Partial<ConsumerRow>,
    ): Promise<boolean> {
      const { affected } = await db.write(
        tables.updateTable("queue_consumers").set(values).where("id", "=", id).where("queue_id", "=", queue_id),
      );
      return affected === 1;
    },

    async deleteConsumer(queueId: string, id: string): Promise<boolean> {
      const { affected } = await db.write(
        tables.deleteFrom("queue_consumers").where("queue_id", "=", queueId).where("id", "=", id),
      );
      return affected === 1;
    },

    /** Returns the consumers with this script, or all consumers of the account if `script` is omitted. */
    consumersOf: (account: string, script?: string): Promise<ConsumerRow[]> => {
      const query = tables.selectFrom("queue_consumers").selectAll().where("account_id", "=", account);
      return db.read(script === undefined ? query : query.where("script", "=", script));
    },

    /** Renames a worker that consumes queues. Returns the ids of these queues. */
    async renameScript(tx: Kysely<unknown>, { account, from, to }: ScriptRename): Promise<string[]> {
      const rows = await (tx as unknown as Kysely<QueueTables>)
        .updateTable("queue_consumers")
        .set({ script: to })
        .where("account_id", "=", account)
        .where("script", "=", from)
        .returning("queue_id")
        .execute();
      return rows.map(({ queue_id }) => queue_id);
    },

    /** Lists the accounts that have ready queues. */
    async listReadyAccounts(now: number): Promise<string[]> {
      const rows = await db.read(ready(now).select("queue_consumers.account_id").distinct());
      return rows.map(({ account_id }) => account_id);
    },

    /** Lists ready queues of an account in random order, so that each gets a turn if they cannot all be delivered. */
    async listReady(account: string, now: number, limit: number): Promise<string[]> {
      const rows = await db.read(
        ready(now)
          .select("queue_consumers.queue_id")
          .where("queue_consumers.account_id", "=", account)
          .orderBy(sql`random()`)
          .limit(limit),
      );
      return rows.map(({ queue_id }) => queue_id);
    },

    /**
     * Acquires or renews the delivery lease of a queue. Returns undefined if another process holds it, or if no worker
     * consumes the queue.
     */
    async acquireLease(
      queueId: string,
      { token, now, until }: { token: string; now: number; until: number },
    ): Promise<QueueWithConsumer | undefined> {
      const { rows } = await db.write(
        tables
          .updateTable("queue_consumers")
          .set({ owner: token, owner_until: until })
          .where("queue_id", "=", queueId)
          .where("type", "=", "worker")
          .where((eb) => eb.or([eb("owner", "=", token), eb("owner_until", "<=", now)]))
          .returningAll(),
      );
      return rows[0] && withQueue(rows[0]);
    },

    /** Returns the queue if this token holds its delivery lease. */
    async findLeased(queueId: string, token: string): Promise<QueueWithConsumer | undefined> {
      const [consumer] = await db.read(
        tables.selectFrom("queue_consumers").selectAll().where("queue_id", "=", queueId).where("owner", "=", token),
      );
      return consumer && withQueue(consumer);
    },

    async releaseLease(queueId: string, token: string): Promise<void> {
      await db.write(
        tables
          .updateTable("queue_consumers")
          .set({ owner: null, owner_until: 0 })
          .where("queue_id", "=", queueId)
          .where("owner", "=", token),
      );
    },

    /**
     * Ends all delivery leases. Called at startup by a process that has the database to itself, which would otherwise
     * wait for the leases of its previous run. Interrupted deliveries do not count as attempts.
     */
    releaseAllLeases: (now: number): Promise<void> =>
      db.transaction<QueueTables, void>(async (tx) => {
        await tx.updateTable("queue_consumers").set({ owner: null, owner_until: 0 }).execute();
        await tx
          .updateTable("queue_messages")
          .set({ token: null, due_at: now, attempts: sql<number>`attempts - 1` })
          .where("token", "is not", null)
          .where("queue_id", "in", (eb) =>
            eb.selectFrom("queue_consumers").select("queue_id").where("type", "=", "worker"),
          )
          .execute();
      }),
  };
}
