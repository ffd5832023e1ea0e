import { sql, type ExpressionBuilder, type ExpressionWrapper, type SqlBool } from "kysely";
import { offsetOf, type PageRequest } from "../../kernel/index.ts";
import { prepareQuery, type Db, type Migration } from "../../store/index.ts";
import type { InboxSearch, InboxTerm } from "./search.ts";
import type { InboxChange, InboxMessage } from "./types.ts";

interface Row {
  id: string;
  account_id: string;
  /** Microseconds since the epoch, unique in a process: the order of the list. */
  position: number;
  kind: InboxMessage["kind"];
  status: InboxMessage["status"];
  worker: string | null;
  parent: string | null;
  size: number;
  attachments: number;
  is_read: number;
  message_id: string | null;
  /** Search texts in lower case. */
  from_key: string;
  to_key: string;
  subject_key: string;
  text_key: string;
  /** JSON: all other fields. */
  details: string;
  /** 0: the fields that come from the content, and the search texts, are still empty. */
  is_indexed: number;
  /** Null if stored as an object. */
  raw: Uint8Array | null;
}

interface Tables {
  inbox_messages: Row;
}

const messagesMigration: Migration = {
  name: "mail-inbox-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("inbox_messages")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("position", "bigint", (column) => column.notNull())
      .addColumn("kind", key, (column) => column.notNull())
      .addColumn("status", key, (column) => column.notNull())
      .addColumn("worker", key)
      .addColumn("parent", key)
      .addColumn("size", "bigint", (column) => column.notNull())
      .addColumn("attachments", "integer", (column) => column.notNull())
      .addColumn("is_read", "integer", (column) => column.notNull())
      .addColumn("message_id", "text")
      .addColumn("from_key", "text", (column) => column.notNull())
      .addColumn("to_key", "text", (column) => column.notNull())
      .addColumn("subject_key", "text", (column) => column.notNull())
      .addColumn("details", "text", (column) => column.notNull())
      // The last columns, because lists do not read them.
      .addColumn("text_key", "text", (column) => column.notNull())
      .addColumn("raw", sql.raw(types.bytes))
      .execute();
    await db.schema
      .createIndex("inbox_messages_account")
      .on("inbox_messages")
      .columns(["account_id", "position", "id"])
      .execute();
    await sql`create index inbox_messages_parent on inbox_messages (parent, position) where parent is not null`.execute(
      db,
    );
    await sql`create index inbox_messages_processing on inbox_messages (id) where status = 'processing'`.execute(db);
  },
};

const isIndexedMigration: Migration = {
  name: "mail-inbox-002",
  async up(db) {
    await db.schema
      .alterTable("inbox_messages")
      .addColumn("is_indexed", "integer", (column) => column.notNull().defaultTo(1))
      .execute();
    await db.schema.createIndex("inbox_messages_position").on("inbox_messages").column("position").execute();
    await sql`create index inbox_messages_unindexed on inbox_messages (position) where is_indexed = 0`.execute(db);
  },
};

export const inboxMigrations: Migration[] = [messagesMigration, isIndexedMigration];

/** A new message. The fields that come from its content are empty. */
export interface AddedMessage {
  message: InboxMessage;
  position: number;
  /** Undefined if stored as an object. */
  raw: Uint8Array | undefined;
}

export interface UnindexedMessage {
  message: InboxMessage;
  /** Null if stored as an object. */
  raw: Uint8Array | null;
}

/** The fields of a message that come from its content, and its search texts in lower case. */
export interface MessageIndex {
  id: string;
  fields: Pick<InboxMessage, "author" | "subject" | "messageId" | "preview" | "attachments">;
  keys: { from: string; to: string; subject: string; text: string };
}

export interface MessageChange {
  account: string;
  change: InboxChange;
}

const LISTED = [
  "id",
  "account_id",
  "position",
  "kind",
  "status",
  "worker",
  "parent",
  "size",
  "attachments",
  "is_read",
  "message_id",
  "details",
] as const;
type ListedRow = Pick<Row, (typeof LISTED)[number]>;
const ALL_COLUMNS = [...LISTED, "from_key", "to_key", "subject_key", "text_key", "is_indexed", "raw"] as const;
type Details = Pick<
  InboxMessage,
  "from" | "to" | "author" | "subject" | "messageId" | "preview" | "deliveries" | "authentication"
>;

export function createInboxTable(db: Db) {
  const tables = db.tables<Tables>();
  // Compiled once: to build a statement for many rows takes longer than to run one for each row.
  const insert = prepareQuery((arg) =>
    tables
      .insertInto("inbox_messages")
      .values(Object.fromEntries(ALL_COLUMNS.map((name) => [name, arg(name)])) as unknown as Row)
      .onConflict((conflict) => conflict.column("id").doNothing()),
  );
  const selectOne = prepareQuery((arg) =>
    tables
      .selectFrom("inbox_messages")
      .select(LISTED)
      .where("account_id", "=", arg<string>("account"))
      .where("id", "=", arg<string>("id")),
  );
  const update = prepareQuery((arg) =>
    tables
      .updateTable("inbox_messages")
      .set({ status: arg("status"), worker: arg("worker"), is_read: arg("is_read"), details: arg("details") })
      .where("id", "=", arg<string>("id")),
  );

  return {
    /** Adds messages, then changes others, in one transaction. A change of a message that was deleted is ignored. */
    async write(added: readonly AddedMessage[], changed: ReadonlyMap<string, MessageChange>): Promise<void> {
      await db.transaction<Tables, void>(async (tx) => {
        for (const message of added) await tx.executeQuery(insert({ ...rowOf(message) }).compile());
        for (const [id, { account, change }] of changed) {
          const { rows } = await tx.executeQuery(selectOne({ account, id }).compile());
          const [row] = rows;
          if (row === undefined) continue;
          const message = { ...messageOf(row), ...change };
          const { status, worker = null, read } = message;
          const details = detailsText(message);
          await tx.executeQuery(update({ id, status, worker, is_read: Number(read), details }).compile());
        }
      });
    },

    /** Oldest first. */
    async unindexed(limit: number): Promise<UnindexedMessage[]> {
      const rows = await db.read(
        tables
          .selectFrom("inbox_messages")
          .select([...LISTED, "raw"])
          .where("is_indexed", "=", sql.lit(0))
          .orderBy("position")
          .limit(limit),
      );
      return rows.map((row) => ({ message: messageOf(row), raw: row.raw }));
    },

    /** Must not run concurrently with write(). */
    async index(entries: readonly (MessageIndex & { message: InboxMessage })[]): Promise<void> {
      await db.transaction<Tables, void>(async (tx) => {
        for (const { id, message, fields, keys } of entries)
          await tx
            .updateTable("inbox_messages")
            .set({
              attachments: fields.attachments,
              message_id: fields.messageId?.toLowerCase() ?? null,
              from_key: keys.from,
              to_key: keys.to,
              subject_key: keys.subject,
              text_key: keys.text,
              details: detailsText({ ...message, ...fields }),
              is_indexed: 1,
            })
            .where("id", "=", id)
            .execute();
      });
    },

    rows: (account: string, ids: string[]): Promise<ListedRow[]> =>
      db.read(
        tables.selectFrom("inbox_messages").select(LISTED).where("account_id", "=", account).where("id", "in", ids),
      ),

    async get(account: string, id: string): Promise<InboxMessage | undefined> {
      const [row] = await this.rows(account, [id]);
      return row && messageOf(row);
    },

    /** Resolves with the raw message: null if stored as an object, undefined if there is no such message. */
    async raw(account: string, id: string): Promise<Uint8Array | null | undefined> {
      const [row] = await db.read(
        tables.selectFrom("inbox_messages").select("raw").where("account_id", "=", account).where("id", "=", id),
      );
      return row?.raw;
    },

    async list(account: string, search: InboxSearch, page: PageRequest): Promise<InboxMessage[]> {
      const rows = await db.read(
        tables
          .selectFrom("inbox_messages")
          .select(LISTED)
          .where((eb) => matches(eb, account, search))
          .orderBy("position", "desc")
          .orderBy("id", "desc")
          .limit(page.perPage)
          .offset(offsetOf(page)),
      );
      return rows.map(messageOf);
    },

    async count(account: string, search: InboxSearch): Promise<number> {
      const [row] = await db.read(
        tables
          .selectFrom("inbox_messages")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where((eb) => matches(eb, account, search)),
      );
      return Number(row!.count);
    },

    async causedBy(account: string, parent: string): Promise<InboxMessage[]> {
      const rows = await db.read(
        tables
          .selectFrom("inbox_messages")
          .select(LISTED)
          .where("parent", "=", parent)
          .where("account_id", "=", account)
          .orderBy("position")
          .limit(100),
      );
      return rows.map(messageOf);
    },

    matchingIds: async (account: string, search: InboxSearch, limit: number): Promise<{ id: string; size: number }[]> =>
      db.read(
        tables
          .selectFrom("inbox_messages")
          .select(["id", "size"])
          .where((eb) => matches(eb, account, search))
          .limit(limit),
      ),

    oldest: async (limit: number): Promise<{ id: string; account_id: string; size: number }[]> =>
      db.read(
        tables.selectFrom("inbox_messages").select(["id", "account_id", "size"]).orderBy("position").limit(limit),
      ),

    /** Resolves with the messages that this call deleted. `isObject`: the content must be deleted, too. */
    async remove(ids: string[]): Promise<{ id: string; size: number; isObject: boolean }[]> {
      const { rows } = await db.write(
        tables
          .deleteFrom("inbox_messages")
          .where("id", "in", ids)
          .returning((eb) => ["id", "size", eb("raw", "is", null).as("isObject")]),
      );
      return rows.map(({ id, size, isObject }) => ({ id, size, isObject: Boolean(isObject) }));
    },

    async totals(): Promise<{ count: number; bytes: number; position: number }> {
      const [row] = await db.read(
        tables
          .selectFrom("inbox_messages")
          .select((eb) => [
            eb.fn.countAll<number>().as("count"),
            eb.fn.sum<number | null>("size").as("bytes"),
            eb.fn.max("position").as("position"),
          ]),
      );
      return { count: Number(row!.count), bytes: Number(row!.bytes ?? 0), position: Number(row!.position ?? 0) };
    },

    async existing(ids: string[]): Promise<Set<string>> {
      const rows = await db.read(tables.selectFrom("inbox_messages").select("id").where("id", "in", ids));
      return new Set(rows.map(({ id }) => id));
    },

    async markInterrupted(): Promise<void> {
      await db.write(
        tables.updateTable("inbox_messages").set({ status: "interrupted" }).where("status", "=", "processing"),
      );
    },
  };
}

function rowOf({ message, position, raw }: AddedMessage): Row {
  const { id, account, kind, status, worker, parent, size, attachments, read } = message;
  return {
    id,
    account_id: account,
    position,
    kind,
    status,
    worker: worker ?? null,
    parent: parent ?? null,
    size,
    attachments,
    is_read: Number(read),
    message_id: null,
    from_key: "",
    to_key: "",
    subject_key: "",
    text_key: "",
    details: detailsText(message),
    is_indexed: 0,
    raw: raw ?? null,
  };
}

function detailsText(message: InboxMessage): string {
  const { from, to, author, subject, messageId, preview, deliveries, authentication } = message;
  const details: Details = { from, to, author, subject, messageId, preview, deliveries, authentication };
  return JSON.stringify(details);
}

function messageOf(row: ListedRow): InboxMessage {
  const details = JSON.parse(row.details) as Details;
  return {
    ...details,
    messageId: details.messageId,
    authentication: details.authentication,
    id: row.id,
    account: row.account_id,
    kind: row.kind,
    status: row.status,
    at: new Date(Math.floor(row.position / 1000)),
    size: row.size,
    attachments: row.attachments,
    read: row.is_read !== 0,
    worker: row.worker ?? undefined,
    parent: row.parent ?? undefined,
  };
}

type Builder = ExpressionBuilder<Tables, "inbox_messages">;
type Condition = ExpressionWrapper<Tables, "inbox_messages", SqlBool>;

function matches(eb: Builder, account: string, search: InboxSearch): Condition {
  return eb.and([
    eb("account_id", "=", account),
    ...search.map((term) => (term.not === true ? eb.not(conditionOf(eb, term)) : conditionOf(eb, term))),
  ]);
}

function conditionOf(eb: Builder, term: InboxTerm): Condition {
  switch (term.field) {
    case "text":
      return eb.or(
        (["subject_key", "from_key", "to_key", "text_key"] as const).map((column) =>
          contains(eb, column, term.contains),
        ),
      );
    case "from":
    case "to":
    case "subject":
      return eb.and([contains(eb, `${term.field}_key`, term.contains)]);
    case "message_id":
      return eb.and([contains(eb, "message_id", term.contains)]);
    case "worker":
    case "parent":
      // A row without a worker must also match the negation.
      return eb.and([eb(term.field, "is not", null), eb(term.field, "=", term.is)]);
    case "kind":
      return eb.and([eb("kind", "=", term.is)]);
    case "status":
      return eb.and([eb("status", "=", term.is)]);
    case "attachment":
      return eb.and([eb("attachments", ">", 0)]);
    case "read":
      return eb.and([eb("is_read", "=", 1)]);
    case "before":
      return eb.and([eb("position", "<", term.at * 1000)]);
    case "after":
      return eb.and([eb("position", ">=", term.at * 1000)]);
  }
}

function contains(
  eb: Builder,
  column: "from_key" | "to_key" | "subject_key" | "text_key" | "message_id",
  text: string,
): ReturnType<typeof sql<SqlBool>> {
  const pattern = `%${text.replaceAll("\0", "").replace(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  return sql<SqlBool>`coalesce(${eb.ref(column)}, '') like ${pattern} escape '\\'`;
}
