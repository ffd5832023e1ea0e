import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { ScriptRename } from "../scripts/references.ts";

interface TailTables {
  tails: {
    /** 32 random hex digits: a client that knows the id may read the tail. */
    id: string;
    account_id: string;
    script: string;
    /** The token that started the tail; null: unknown. */
    token_id: string | null;
    /** JSON. */
    filters: string;
    /** Epoch milliseconds, like all times in this file. */
    created_at: number;
    expires_at: number;
    /** When its reader was last seen. */
    seen_at: number;
  };
  /** Records for the process to which the reader is connected. Ordered by at, node, n. */
  tail_records: {
    tail_id: string;
    at: number;
    /** Identifies the process that wrote the record. */
    node: string;
    n: number;
    record: string;
  };
}

export const tailMigrations: Migration[] = [
  {
    name: "workers-tails-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("tails")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("script", text, (column) => column.notNull())
        .addColumn("filters", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("tails_script")
        .on("tails")
        .columns(["account_id", "script", "created_at", "id"])
        .execute();
      await db.schema.createIndex("tails_expiry").on("tails").columns(["expires_at", "id"]).execute();
      await db.schema
        .createTable("tail_records")
        .addColumn("tail_id", text, (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("node", text, (column) => column.notNull())
        .addColumn("n", "bigint", (column) => column.notNull())
        .addColumn("record", "text", (column) => column.notNull())
        .addPrimaryKeyConstraint("tail_records_key", ["tail_id", "at", "node", "n"])
        .execute();
      await db.schema.createIndex("tail_records_age").on("tail_records").column("at").execute();
    },
  },
  {
    name: "workers-tails-002",
    olderVersions: "none",
    async up(db, types) {
      // Existing tails have no token; clients start new ones.
      await sql`delete from tails`.execute(db);
      await db.schema.alterTable("tails").addColumn("token_id", sql.raw(types.keyText)).execute();
    },
  },
];

export interface TailRow {
  id: string;
  token: string | null;
  account: string;
  script: string;
  filters: string;
  createdAt: number;
  expiresAt: number;
  seenAt: number;
}

export type RecordRow = TailTables["tail_records"];

/** No server has this many tails, but a query needs some limit. */
const MAX_TAILS = 100_000;

export function createTailsTable(db: Db) {
  const tables = db.tables<TailTables>();

  return {
    /** Adds a tail unless the script has `limit` tails that were seen after `staleBefore`; stale ones are removed. */
    add: (
      row: TailRow,
      { limit, now, staleBefore }: { limit: number; now: number; staleBefore: number },
    ): Promise<boolean> =>
      db.transaction<TailTables, boolean>(async (tx) => {
        const others = await tx
          .selectFrom("tails")
          .selectAll()
          .where("account_id", "=", row.account)
          .where("script", "=", row.script)
          .execute();
        const expiredTails = others.filter(({ expires_at, seen_at }) => expires_at <= now || seen_at < staleBefore);
        if (others.length - expiredTails.length >= limit) return false;
        if (others.length >= limit)
          await tx
            .deleteFrom("tails")
            .where(
              "id",
              "in",
              expiredTails.map(({ id }) => id),
            )
            .execute();
        const { account, token, createdAt, expiresAt, seenAt, ...rest } = row;
        await tx
          .insertInto("tails")
          .values({
            ...rest,
            account_id: account,
            token_id: token,
            created_at: createdAt,
            expires_at: expiresAt,
            seen_at: seenAt,
          })
          .execute();
        return true;
      }),
    /** Newest first. */
    async list(account: string, script: string, now: number): Promise<TailRow[]> {
      const rows = await tables
        .selectFrom("tails")
        .selectAll()
        .where("account_id", "=", account)
        .where("script", "=", script)
        .where("expires_at", ">", now)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(MAX_TAILS)
        .execute();
      return rows.map(fromRow);
    },
    async all(now: number): Promise<TailRow[]> {
      return (
        await tables.selectFrom("tails").selectAll().where("expires_at", ">", now).limit(MAX_TAILS).execute()
      ).map(fromRow);
    },
    /** Marks these tails as read. Those missing from the result no longer exist. */
    async seen(ids: readonly string[], { now, expiresAt }: { now: number; expiresAt: number }): Promise<TailRow[]> {
      if (ids.length === 0) return [];
      const { rows } = await db.write(
        tables
          .updateTable("tails")
          .set({ seen_at: now, expires_at: expiresAt })
          .where("id", "in", ids)
          .where("expires_at", ">", now)
          .returningAll(),
      );
      return rows.map(fromRow);
    },
    async remove(account: string, script: string, id: string | undefined): Promise<number> {
      let query = tables.deleteFrom("tails").where("account_id", "=", account).where("script", "=", script);
      if (id !== undefined) query = query.where("id", "=", id);
      return (await db.write(query)).affected;
    },
    /** Resolves with the number of tails of the renamed worker. */
    async rename(tx: Kysely<unknown>, { account, from, to }: ScriptRename): Promise<number> {
      const rows = await (tx as unknown as Kysely<TailTables>)
        .updateTable("tails")
        .set({ script: to })
        .where("account_id", "=", account)
        .where("script", "=", from)
        .returning("id")
        .execute();
      return rows.length;
    },
    async removeExpired(now: number): Promise<number> {
      return (await db.write(tables.deleteFrom("tails").where("expires_at", "<=", now))).affected;
    },
    async addRecords(records: RecordRow[]): Promise<void> {
      await db.write(tables.insertInto("tail_records").values(records));
    },
    /** Removes the first `limit` records of a tail from the table and returns them in order. */
    async takeRecords(tail: string, limit: number): Promise<string[]> {
      const { rows } = await db.write(
        tables
          .deleteFrom("tail_records")
          .where("tail_id", "=", tail)
          .where(({ eb, refTuple, selectFrom }) =>
            eb(
              refTuple("at", "node", "n"),
              "in",
              selectFrom("tail_records")
                .select(["at", "node", "n"])
                .where("tail_id", "=", tail)
                .orderBy("at")
                .orderBy("node")
                .orderBy("n")
                .limit(limit)
                .$asTuple("at", "node", "n"),
            ),
          )
          .returningAll(),
      );
      return rows.toSorted((a, b) => a.at - b.at || compare(a.node, b.node) || a.n - b.n).map(({ record }) => record);
    },
    async removeRecords(before: number): Promise<void> {
      await db.write(tables.deleteFrom("tail_records").where("at", "<", before));
    },
  };
}

export type TailsTable = ReturnType<typeof createTailsTable>;

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const fromRow = ({
  id,
  account_id,
  token_id,
  script,
  filters,
  created_at,
  expires_at,
  seen_at,
}: TailTables["tails"]): TailRow => ({
  id,
  script,
  filters,
  account: account_id,
  token: token_id,
  createdAt: created_at,
  expiresAt: expires_at,
  seenAt: seen_at,
});
