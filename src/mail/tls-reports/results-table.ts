import { sql } from "kysely";
import type { Db, Migration } from "../../store/index.ts";

interface Tables {
  email_tls_results: {
    /** Days since 1970-01-01, UTC. */
    day: number;
    domain: string;
    /** SHA-256 of `detail`. */
    result_key: string;
    /** JSON: a TlsCount without its number of sessions. */
    detail: string;
    sessions: number;
  };
  /** Days of domains that have been reported, or never will be. */
  email_tls_reports: { day: number; domain: string; finished_at: number };
}

export const tlsReportsMigration: Migration = {
  name: "mail-tls-reports-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_tls_results")
      .addColumn("day", "integer", (column) => column.notNull())
      .addColumn("domain", key, (column) => column.notNull())
      .addColumn("result_key", key, (column) => column.notNull())
      .addColumn("detail", "text", (column) => column.notNull())
      .addColumn("sessions", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("email_tls_results_key", ["day", "domain", "result_key"])
      .execute();
    await db.schema
      .createTable("email_tls_reports")
      .addColumn("day", "integer", (column) => column.notNull())
      .addColumn("domain", key, (column) => column.notNull())
      .addColumn("finished_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("email_tls_reports_key", ["day", "domain"])
      .execute();
  },
};

export type TlsResultRow = Tables["email_tls_results"];
export type DomainDay = Pick<TlsResultRow, "day" | "domain">;

/** Rows per statement. */
const BATCH_SIZE = 200;

export type TlsResultsTable = ReturnType<typeof createTlsResultsTable>;

export function createTlsResultsTable(db: Db) {
  const tables = db.tables<Tables>();
  return {
    /** Adds to the session counts of existing rows. */
    async add(rows: readonly TlsResultRow[]): Promise<void> {
      // All processes use the same order, so that they do not deadlock.
      const sortedRows = rows.toSorted((a, b) => (a.domain + a.result_key < b.domain + b.result_key ? -1 : 1));
      for (let start = 0; start < sortedRows.length; start += BATCH_SIZE)
        await db.write(
          tables
            .insertInto("email_tls_results")
            .values(sortedRows.slice(start, start + BATCH_SIZE))
            .onConflict((conflict) =>
              conflict
                .columns(["day", "domain", "result_key"])
                .doUpdateSet({ sessions: sql`email_tls_results.sessions + excluded.sessions` }),
            ),
        );
    },
    of: ({ day, domain }: DomainDay, limit: number): Promise<Pick<TlsResultRow, "detail" | "sessions">[]> =>
      db.read(
        tables
          .selectFrom("email_tls_results")
          .select(["detail", "sessions"])
          .where("day", "=", day)
          .where("domain", "=", domain)
          .orderBy("sessions", "desc")
          .orderBy("result_key")
          .limit(limit),
      ),
    /** Days before `day` that have results, in order. */
    daysBefore(day: number, after: DomainDay, limit: number): Promise<DomainDay[]> {
      return db.read(
        tables
          .selectFrom("email_tls_results")
          .select(["day", "domain"])
          .distinct()
          .where("day", "<", day)
          .where((is) => is.or([is("day", ">", after.day), is("day", "=", after.day).and("domain", ">", after.domain)]))
          .orderBy("day")
          .orderBy("domain")
          .limit(limit),
      );
    },
    async isFinished({ day, domain }: DomainDay): Promise<boolean> {
      const rows = await db.read(
        tables.selectFrom("email_tls_reports").select("day").where("day", "=", day).where("domain", "=", domain),
      );
      return rows.length > 0;
    },
    /** Deletes the results of a day; results added later by another process are never reported. */
    async finish({ day, domain }: DomainDay, now: number): Promise<void> {
      await db.transaction<Tables, void>(async (tx) => {
        await tx
          .insertInto("email_tls_reports")
          .values({ day, domain, finished_at: now })
          .onConflict((conflict) => conflict.columns(["day", "domain"]).doNothing())
          .execute();
        await tx.deleteFrom("email_tls_results").where("day", "=", day).where("domain", "=", domain).execute();
      });
    },
    async expire(day: number): Promise<void> {
      await db.write(tables.deleteFrom("email_tls_results").where("day", "<", day));
      await db.write(tables.deleteFrom("email_tls_reports").where("day", "<", day));
    },
  };
}
