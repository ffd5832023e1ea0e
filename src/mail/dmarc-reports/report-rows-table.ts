import { sql } from "kysely";
import { utcDay } from "../../kernel/index.ts";
import type { Db, Migration } from "../../store/index.ts";
import { createDmarcRows } from "./dmarc-rows-table.ts";
import { type ReportBounds, type ReportHeader, type ReportRowTables } from "./received-table.ts";
import { createTlsRows } from "./tls-rows-table.ts";

export const reportRowsMigration: Migration = {
  name: "mail-reports-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_reports_received")
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("kind", key, (column) => column.notNull())
      .addColumn("report_key", key, (column) => column.notNull())
      .addColumn("sender", key, (column) => column.notNull())
      .addColumn("org_name", key, (column) => column.notNull())
      .addColumn("report_id", key, (column) => column.notNull())
      .addColumn("begin_at", "bigint", (column) => column.notNull())
      .addColumn("end_at", "bigint", (column) => column.notNull())
      .addColumn("received_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("email_reports_received_key", ["zone_id", "kind", "report_key"])
      .execute();
    await db.schema
      .createIndex("email_reports_received_sender")
      .on("email_reports_received")
      .columns(["zone_id", "sender", "received_at"])
      .execute();
    await db.schema
      .createIndex("email_reports_received_begin")
      .on("email_reports_received")
      .columns(["begin_at"])
      .execute();
    await db.schema
      .createTable("email_dmarc_rows")
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("report_key", key, (column) => column.notNull())
      .addColumn("day", key, (column) => column.notNull())
      .addColumn("org_name", key, (column) => column.notNull())
      .addColumn("sender", key, (column) => column.notNull())
      .addColumn("source_ip", key, (column) => column.notNull())
      .addColumn("header_from", key, (column) => column.notNull())
      .addColumn("messages", "bigint", (column) => column.notNull())
      .addColumn("disposition", key, (column) => column.notNull())
      .addColumn("dkim", "integer", (column) => column.notNull())
      .addColumn("spf", "integer", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("email_dmarc_rows_zone").on("email_dmarc_rows").columns(["zone_id", "day"]).execute();
    await db.schema.createIndex("email_dmarc_rows_day").on("email_dmarc_rows").columns(["day"]).execute();
  },
};

export type ReportRows = ReturnType<typeof createReportRows>;

/** The records of DMARC and TLS reports. */
export function createReportRows(db: Db, bounds: ReportBounds) {
  const tables = db.tables<ReportRowTables>();
  return {
    ...createDmarcRows(db, bounds),
    ...createTlsRows(db, bounds),

    /** Resolves with the number of reports received for these days, including reports without records. */
    async countReports(kind: ReportHeader["kind"], zone: string, since: number, until: number): Promise<number> {
      const [row] = await db.read(
        tables
          .selectFrom("email_reports_received")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("zone_id", "=", zone)
          .where("kind", "=", kind)
          .where("begin_at", ">=", since)
          .where("begin_at", "<", until),
      );
      return row!.count;
    },

    /** Deletes reports that begin on an earlier day. */
    async expire(before: number): Promise<void> {
      const day = utcDay(before);
      await db.write(tables.deleteFrom("email_dmarc_rows").where("day", "<", day));
      await db.write(tables.deleteFrom("email_tls_rows").where("day", "<", day));
      await db.write(tables.deleteFrom("email_reports_received").where("begin_at", "<", Date.parse(day)));
    },

    async deleteZone(zone: string): Promise<void> {
      await db.write(tables.deleteFrom("email_dmarc_rows").where("zone_id", "=", zone));
      await db.write(tables.deleteFrom("email_tls_rows").where("zone_id", "=", zone));
      await db.write(tables.deleteFrom("email_reports_received").where("zone_id", "=", zone));
    },
  };
}
