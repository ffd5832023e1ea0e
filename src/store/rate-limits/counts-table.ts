import { sql } from "kysely";
import type { Db, Migration } from "../db/port.ts";

interface CountRow {
  key: string;
  count: number;
  /** End of the period, after which the row is ignored. */
  until: number;
}

interface Tables {
  rate_counts: CountRow;
}

export const rateCountsMigrations: readonly Migration[] = [
  {
    name: "rate-counts-001",
    async up(db, types) {
      await db.schema
        .createTable("rate_counts")
        .addColumn("key", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("count", "bigint", (column) => column.notNull())
        .addColumn("until", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("rate_counts_until").on("rate_counts").column("until").execute();
      // Counts are shared only on PostgreSQL. They need not survive a crash, so they are not written to the WAL.
      if (types.bytes === "bytea") await sql`alter table rate_counts set unlogged`.execute(db);
    },
  },
];

/** A period and the number of events in it. */
type Count = Pick<CountRow, "count" | "until">;

export function createCountsTable(db: Db) {
  const tables = db.tables<Tables>();

  return {
    /** Adds events to the current period, or starts a period that ends at `until`. Resolves with the new count. */
    async add(key: string, events: number, now: number, until: number): Promise<Count> {
      const { rows } = await db.write(
        tables
          .insertInto("rate_counts")
          .values({ key, count: events, until })
          .onConflict((on) =>
            on.column("key").doUpdateSet({
              count: sql`case when rate_counts.until > ${now} then rate_counts.count else 0 end + excluded.count`,
              until: sql`case when rate_counts.until > ${now} then rate_counts.until else excluded.until end`,
            }),
          )
          .returning(["count", "until"]),
      );
      return rows[0]!;
    },
    async find(key: string, now: number): Promise<Count | undefined> {
      const rows = await db.read(
        tables.selectFrom("rate_counts").select(["count", "until"]).where("key", "=", key).where("until", ">", now),
      );
      return rows[0];
    },
    /** Deletes periods that have ended. */
    forget: async (now: number) => void (await db.write(tables.deleteFrom("rate_counts").where("until", "<=", now))),
  };
}
