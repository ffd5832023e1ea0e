import { sql, type Compilable } from "kysely";
import { type GroupCommitter, prepareQuery, type Db } from "../../../store/index.ts";
import type { BodyRow, MessageRow, OutboundTables, RecipientRow, RecipientState } from "./migrations.ts";

/** Queries of the queue API and of housekeeping. */
export type QueueTable = ReturnType<typeof createQueueTable>;

interface ListFilter {
  account: string;
  state?: RecipientState;
  domain?: string;
  /** The last row of the previous page. */
  after?: { createdAt: number; id: string };
  limit: number;
}

export type MessagePosition = Pick<MessageRow, "created_at" | "id">;

/** A message to insert; includes `body` if it is small. */
export interface NewMessageRows {
  message: MessageRow;
  recipients: RecipientRow[];
  body: Uint8Array | undefined;
}

/** Rows per INSERT: PostgreSQL allows 65,535 parameters, and a recipient row uses 23. */
const ROWS_PER_INSERT = 1000;
const BATCH_SIZE = 500;

export function createQueueTable(db: Db, commits: GroupCommitter) {
  const tables = db.tables<OutboundTables>();

  const body = prepareQuery((arg) =>
    tables.selectFrom("outbound_bodies").select("body").where("message_id", "=", arg<string>("id")),
  );
  const insertMessage = preparedInsert<MessageRow>("outbound_messages");
  const insertBody = preparedInsert<BodyRow>("outbound_bodies");
  const insertRecipient = preparedInsert<RecipientRow>("outbound_recipients");

  /** Takes the columns from the first row: every row of a table has all of them. */
  function preparedInsert<Row extends object>(table: keyof OutboundTables): (row: Row) => Compilable<unknown> {
    let query: ((values: Record<string, unknown>) => Compilable<unknown>) | undefined;
    return (row) =>
      (query ??= prepareQuery((arg) =>
        tables
          .insertInto(table)
          .values(Object.fromEntries(Object.keys(row).map((column) => [column, arg(column)])) as never),
      ))(row as Record<string, unknown>);
  }

  /**
   * One row per statement costs nothing extra on SQLite and keeps the statement constant; on PostgreSQL every statement
   * is a round trip.
   */
  function insertsOf(recipients: RecipientRow[]): Compilable<unknown>[] {
    if (recipients.length === 1 || db.dialect === "sqlite") return recipients.map(insertRecipient);
    const pages = Array.from({ length: Math.ceil(recipients.length / ROWS_PER_INSERT) }, (_, page) =>
      recipients.slice(page * ROWS_PER_INSERT, (page + 1) * ROWS_PER_INSERT),
    );
    return pages.map((rows) => tables.insertInto("outbound_recipients").values(rows));
  }

  return {
    insert: ({ message, recipients, body: octets }: NewMessageRows): Promise<void> =>
      commits.writeAtomically([
        insertMessage(message),
        ...(octets === undefined ? [] : [insertBody({ message_id: message.id, body: octets })]),
        ...insertsOf(recipients),
      ]),

    body: async (id: string): Promise<Uint8Array | undefined> => (await db.read(body({ id })))[0]?.body,

    /** Resolves with the number of queued recipients, counted up to `maxRows`. */
    async waiting(maxRows: number): Promise<number> {
      const recipientIds = tables
        .selectFrom("outbound_recipients")
        .select("id")
        .where("next_try", "is not", null)
        .limit(maxRows)
        .as("some");
      const [row] = await db.read(tables.selectFrom(recipientIds).select((eb) => eb.fn.countAll<number>().as("count")));
      return Number(row!.count);
    },

    async message(id: string): Promise<{ message: MessageRow; recipients: RecipientRow[] } | undefined> {
      const [message] = await db.read(tables.selectFrom("outbound_messages").selectAll().where("id", "=", id));
      if (message === undefined) return undefined;
      return {
        message,
        recipients: await db.read(
          tables.selectFrom("outbound_recipients").selectAll().where("message_id", "=", id).orderBy("id"),
        ),
      };
    },

    messages: async (ids: string[]): Promise<MessageRow[]> =>
      ids.length === 0 ? [] : db.read(tables.selectFrom("outbound_messages").selectAll().where("id", "in", ids)),

    /** Newest first. */
    list({ account, state, domain, after, limit }: ListFilter): Promise<RecipientRow[]> {
      let query = tables.selectFrom("outbound_recipients").selectAll().where("account_id", "=", account);
      if (state !== undefined) query = query.where("state", "=", state);
      if (domain !== undefined) query = query.where("domain", "=", domain);
      if (after !== undefined)
        query = query.where((eb) => eb(eb.refTuple("created_at", "id"), "<", eb.tuple(after.createdAt, after.id)));
      return db.read(query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit));
    },

    /**
     * Makes all recipients due now that are neither delivered nor in progress. Undefined if the body was deleted;
     * otherwise the recipients to retry.
     */
    resend: (id: string, now: number, expiresAt: number): Promise<RecipientRow[] | undefined> =>
      db.transaction<OutboundTables, RecipientRow[] | undefined>(async (tx) => {
        const message = await tx
          .updateTable("outbound_messages")
          .set({ finished_at: null, body_until: null })
          .where("id", "=", id)
          .where("body_in", "is not", null)
          .returning("id")
          .executeTakeFirst();
        if (message === undefined) return undefined;
        return tx
          .updateTable("outbound_recipients")
          .set((eb) => ({
            state: eb
              .case()
              .when("reply_code", "is", null)
              .then("queued" as const)
              .else("deferred" as const)
              .end(),
            next_try: now,
            expires_at: expiresAt,
            finished_at: null,
            tell_at: null,
          }))
          .where("message_id", "=", id)
          .where("state", "in", ["queued", "deferred", "failed", "expired"])
          .returningAll()
          .execute();
      }),

    /** Outbound messages created for inbound ones. */
    async ofInbound(inbound: string[]): Promise<{ message: MessageRow; recipients: RecipientRow[] }[]> {
      if (inbound.length === 0) return [];
      // Not ordered by id: PostgreSQL would read the messages in that order until it has found enough.
      const messages = await db.read(
        tables.selectFrom("outbound_messages").selectAll().where("inbound_id", "in", inbound).limit(BATCH_SIZE),
      );
      if (messages.length === 0) return [];
      messages.sort((a, b) => (a.id < b.id ? -1 : 1));
      const recipients = await db.read(
        tables
          .selectFrom("outbound_recipients")
          .selectAll()
          .where(
            "message_id",
            "in",
            messages.map(({ id }) => id),
          )
          .orderBy("message_id")
          .orderBy("id")
          .limit(10 * BATCH_SIZE),
      );
      const byMessage = Map.groupBy(recipients, (row) => row.message_id);
      return messages.map((message) => ({ message, recipients: byMessage.get(message.id) ?? [] }));
    },

    /** Destinations of the account's queued recipients. */
    async destinationsOf(account: string): Promise<string[]> {
      const rows = await db.read(
        tables
          .selectFrom("outbound_recipients")
          .select("destination")
          .distinct()
          .where("account_id", "=", account)
          .where("state", "in", ["queued", "deferred"])
          .limit(BATCH_SIZE),
      );
      return rows.map(({ destination }) => destination);
    },

    /** Cancels the queued recipients. */
    async cancel(
      id: string,
      now: number,
      reply: { code: number; enhanced: string; text: string },
    ): Promise<RecipientRow[]> {
      const { rows } = await db.write(
        tables
          .updateTable("outbound_recipients")
          .set({
            state: "failed",
            next_try: null,
            finished_at: now,
            reply_code: reply.code,
            reply_enhanced: reply.enhanced,
            reply_text: reply.text,
            host: null,
          })
          .where("message_id", "=", id)
          .where("next_try", "is not", null)
          .returningAll(),
      );
      return rows;
    },

    /**
     * Returns bodies that are no longer needed. References to them are removed first, so that a resend never finds a
     * partly deleted message.
     */
    async dropBodies(now: number): Promise<MessageRow[]> {
      const finishedMessages = tables
        .selectFrom("outbound_messages")
        .select("id")
        .where("body_until", "<=", now)
        .orderBy("body_until")
        .limit(BATCH_SIZE);
      if ((await db.read(finishedMessages)).length === 0) return [];
      return db.transaction<OutboundTables, MessageRow[]>(async (tx) => {
        const rows = await tx
          .selectFrom("outbound_messages")
          .selectAll()
          .where("id", "in", finishedMessages)
          .where("body_until", "<=", now)
          .where("finished_at", "is not", null)
          .where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom("outbound_recipients")
                  .select("outbound_recipients.id")
                  .whereRef("outbound_recipients.message_id", "=", "outbound_messages.id")
                  .where((one) => one.or([one("next_try", "is not", null), one("lease_until", "is not", null)])),
              ),
            ),
          )
          .execute();
        const ids = rows.map(({ id }) => id);
        if (ids.length === 0) return [];
        await tx
          .updateTable("outbound_messages")
          .set({ body_in: null, body_until: null })
          .where("id", "in", ids)
          .execute();
        await tx.deleteFrom("outbound_bodies").where("message_id", "in", ids).execute();
        return rows;
      });
    },

    /** Like `dropBodies`, for messages delivered to all recipients. */
    dropDelivered: (ids: string[]): Promise<void> =>
      commits.writeAtomically([
        tables.deleteFrom("outbound_bodies").where("message_id", "in", ids),
        tables
          .updateTable("outbound_messages")
          .set({ body_in: null, body_until: null })
          .where("id", "in", ids)
          .where("finished_at", "is not", null),
      ]),

    /** Deletes messages finished before that time; returns how many. */
    async forget(before: number): Promise<number> {
      return db.transaction<OutboundTables, number>(async (tx) => {
        const old = await tx
          .selectFrom("outbound_messages")
          .select("id")
          .where("finished_at", "<", before)
          .where("body_in", "is", null)
          .orderBy("finished_at")
          .limit(BATCH_SIZE)
          .execute();
        if (old.length === 0) return 0;
        const ids = old.map(({ id }) => id);
        await tx.deleteFrom("outbound_recipients").where("message_id", "in", ids).execute();
        await tx.deleteFrom("outbound_messages").where("id", "in", ids).execute();
        return ids.length;
      });
    },

    /**
     * Messages that are done but not marked as done, because the process that finished the last recipient died. Examines
     * the next messages after `after`, oldest first; `next` is undefined at the end.
     */
    async unnoted(
      before: number,
      after?: MessagePosition,
    ): Promise<{ ids: string[]; next: MessagePosition | undefined }> {
      const rows = await db.read(
        tables
          .selectFrom("outbound_messages")
          .select((eb) => [
            "id",
            "created_at",
            eb
              .selectFrom("outbound_recipients")
              .select(sql<number>`1`.as("open"))
              .whereRef("outbound_recipients.message_id", "=", "outbound_messages.id")
              .where((one) => one.or([one("next_try", "is not", null), one("lease_until", "is not", null)]))
              .limit(1)
              .as("open"),
          ])
          .where("finished_at", "is", null)
          .where("created_at", "<", before)
          .$if(after !== undefined, (some) =>
            some.where((eb) => eb(eb.refTuple("created_at", "id"), ">", eb.tuple(after!.created_at, after!.id))),
          )
          .orderBy("created_at")
          .orderBy("id")
          .limit(BATCH_SIZE),
      );
      return {
        ids: rows.filter(({ open }) => open === null).map(({ id }) => id),
        next: rows.length < BATCH_SIZE ? undefined : rows.at(-1),
      };
    },
  };
}
