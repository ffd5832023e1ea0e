import { prepareQuery, type Db } from "../../store/index.ts";
import type { QueueMessageRow, QueueTables } from "./schema.ts";

/** Queries for queue messages. These statements do all coordination, so any number of processes may run them. */
export type MessagesTable = ReturnType<typeof createMessagesTable>;

export interface Backlog {
  count: number;
  bytes: number;
  /** Epoch milliseconds; undefined for an empty queue. */
  oldest: number | undefined;
}

/** Rows per DELETE, few enough not to delay other writes. */
const DELETE_BATCH_SIZE = 500;

export function createMessagesTable(db: Db) {
  const tables = db.tables<QueueTables>();
  const ids = tables.selectFrom("queue_messages").select("id");
  const selectDueTimes = prepareQuery((arg) =>
    tables
      .selectFrom("queue_messages")
      .select("due_at")
      .where("queue_id", "=", arg<string>("queue"))
      .orderBy("due_at")
      .orderBy("id")
      .limit(arg<number>("limit")),
  );

  /** Deletes in batches until no rows are left, so that other writes run in between. */
  async function deleteAll(matchingIds: typeof ids): Promise<number> {
    for (let total = 0; ;) {
      const { affected } = await db.write(
        tables.deleteFrom("queue_messages").where("id", "in", matchingIds.limit(DELETE_BATCH_SIZE)),
      );
      total += affected;
      if (affected < DELETE_BATCH_SIZE) return total;
    }
  }

  return {
    /** Inserts all rows or none. */
    async insert(rows: QueueMessageRow[]): Promise<void> {
      await db.write(tables.insertInto("queue_messages").values(rows));
    },

    /** Returns, in ascending order, the first `limit` times at which a message becomes due or its lease expires. */
    async due(queue: string, limit: number): Promise<number[]> {
      return (await db.read(selectDueTimes({ queue, limit }))).map(({ due_at }) => due_at);
    },

    /**
     * Leases the messages that have been due longest, and returns them in order. Concurrent callers get different rows:
     * PostgreSQL skips locked rows, and SQLite has only one writer.
     */
    async claim(
      queue: string,
      limit: number,
      { token, now, until }: { token: string; now: number; until: number },
    ): Promise<QueueMessageRow[]> {
      const dueIds = ids
        .where("queue_id", "=", queue)
        .where("due_at", "<=", now)
        .where("expires_at", ">", now)
        .orderBy("due_at")
        .orderBy("id")
        .limit(limit);
      const { rows } = await db.write(
        tables
          // Materialized, because PostgreSQL may otherwise rerun the subquery for each row and exceed the limit.
          .with(
            (cte) => cte("picked").materialized(),
            () => (db.dialect === "postgres" ? dueIds.forUpdate().skipLocked() : dueIds),
          )
          .updateTable("queue_messages")
          .set((eb) => ({ token, due_at: until, attempts: eb("attempts", "+", 1) }))
          .where("id", "in", (eb) => eb.selectFrom("picked").select("id"))
          .returningAll(),
      );
      return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    async renew(token: string, messages: readonly string[], until: number): Promise<number> {
      const { affected } = await db.write(
        tables
          .updateTable("queue_messages")
          .set({ due_at: until })
          .where("id", "in", messages)
          .where("token", "=", token),
      );
      return affected;
    },

    /** Deletes delivered messages. Resolves with the number of messages that this token still leased. */
    async acknowledge(token: string, messages: readonly string[]): Promise<number> {
      if (messages.length === 0) return 0;
      const { affected } = await db.write(
        tables.deleteFrom("queue_messages").where("id", "in", messages).where("token", "=", token),
      );
      return affected;
    },

    /**
     * Returns messages to their queue, or moves them if `values` contains another queue. Resolves with the number of
     * messages that this token still leased.
     */
    async release(token: string, messages: readonly string[], values: Partial<QueueMessageRow>): Promise<number> {
      if (messages.length === 0) return 0;
      const { affected } = await db.write(
        tables
          .updateTable("queue_messages")
          .set({ token: null, ...values })
          .where("id", "in", messages)
          .where("token", "=", token),
      );
      return affected;
    },

    /** Returns the message if this token still leases it. */
    async findLeased(id: string, token: string): Promise<QueueMessageRow | undefined> {
      const query = tables.selectFrom("queue_messages").selectAll().where("id", "=", id).where("token", "=", token);
      return (await db.read(query))[0];
    },

    /** Returns messages in order without leasing them. */
    peek: (queue: string, now: number, limit: number): Promise<QueueMessageRow[]> =>
      db.read(
        tables
          .selectFrom("queue_messages")
          .selectAll()
          .where("queue_id", "=", queue)
          .where("expires_at", ">", now)
          .orderBy("due_at")
          .orderBy("id")
          .limit(limit),
      ),

    async backlog(queue: string): Promise<Backlog> {
      const [row] = await db.read(
        tables
          .selectFrom("queue_messages")
          .select((eb) => [
            eb.fn.countAll<number>().as("count"),
            eb.fn.sum<number | null>("size").as("bytes"),
            eb.fn.min("sent_at").as("oldest"),
          ])
          .where("queue_id", "=", queue),
      );
      return {
        count: Number(row?.count ?? 0),
        bytes: Number(row?.bytes ?? 0),
        oldest: row?.oldest == null ? undefined : Number(row.oldest),
      };
    },

    /** Deletes only messages that were sent before the call, so that the purge of a busy queue ends. */
    purge: (queue: string, now: number): Promise<number> =>
      deleteAll(ids.where("queue_id", "=", queue).where("sent_at", "<=", now)),
    /** Deletes expired messages, including those of deleted queues whose purge was interrupted. */
    expire: (now: number): Promise<number> => deleteAll(ids.where("expires_at", "<=", now)),
  };
}
