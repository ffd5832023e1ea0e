import { sql } from "kysely";
import { utcDay } from "../../kernel/index.ts";
import type { Db, Migration } from "../../store/index.ts";
import {
  admitReport,
  deleteOldestDays,
  withinDomainSql,
  type ReportAdmission,
  type ReportBounds,
  type ReportFilter,
  type ReportHeader,
  type ReportRowTables,
  type TlsRow,
} from "./received-table.ts";
import type { TlsPolicyResult } from "./tls-report.ts";

export const tlsRowsMigration: Migration = {
  name: "mail-reports-002-tls",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    // 1 means that the zone publishes an address for TLS reports (RFC 8460 3).
    await db.schema
      .alterTable("email_dmarc_reports")
      .addColumn("tls", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createTable("email_tls_rows")
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("report_key", key, (column) => column.notNull())
      .addColumn("day", key, (column) => column.notNull())
      .addColumn("org_name", key, (column) => column.notNull())
      .addColumn("sender", key, (column) => column.notNull())
      .addColumn("policy_domain", key, (column) => column.notNull())
      .addColumn("policy_type", key, (column) => column.notNull())
      .addColumn("successful", "bigint", (column) => column.notNull())
      .addColumn("failed", "bigint", (column) => column.notNull())
      .addColumn("result_type", key, (column) => column.notNull())
      .addColumn("receiving_mx", key, (column) => column.notNull())
      .addColumn("sending_ip", key, (column) => column.notNull())
      .addColumn("sessions", "bigint", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("email_tls_rows_zone").on("email_tls_rows").columns(["zone_id", "day"]).execute();
    await db.schema.createIndex("email_tls_rows_day").on("email_tls_rows").columns(["day"]).execute();
  },
};

export interface TlsCounts {
  successful: number;
  failed: number;
}

export type TlsGroup = "day" | "policy_domain" | "policy_type" | "org_name" | "sender";

/** Rows per INSERT. */
const BATCH_SIZE = 500;

const total = (column: "successful" | "failed" | "sessions") =>
  sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;

export function createTlsRows(db: Db, bounds: ReportBounds) {
  const tables = db.tables<ReportRowTables>();

  function tlsRows({ zone, since, until, domain }: ReportFilter) {
    const rowsQuery = tables
      .selectFrom("email_tls_rows")
      .where("zone_id", "=", zone)
      .where("day", ">=", since)
      .where("day", "<=", until);
    return domain === undefined ? rowsQuery : rowsQuery.where(withinDomainSql("policy_domain", domain));
  }

  return {
    /** Like `recordDmarc`, for a TLS report. */
    recordTls: (head: ReportHeader, policies: readonly TlsPolicyResult[]): Promise<ReportAdmission> =>
      db.transaction<ReportRowTables, ReportAdmission>(async (tx) => {
        const admission = await admitReport(tx, head, bounds);
        if (admission !== "recorded") return admission;
        const { zone: zone_id, key: report_key, orgName: org_name, sender, begin } = head;
        const rows = policies.flatMap(
          ({ domain: policy_domain, type: policy_type, successful, failed, failures }): TlsRow[] => {
            const row = {
              zone_id,
              report_key,
              day: utcDay(begin),
              org_name,
              sender,
              policy_domain,
              policy_type,
              successful: 0,
              failed: 0,
              result_type: "",
              receiving_mx: "",
              sending_ip: "",
              sessions: 0,
            };
            return [
              { ...row, successful, failed },
              ...failures.map(
                ({ resultType: result_type, receivingMx: receiving_mx, sendingIp: sending_ip, sessions }) => ({
                  ...row,
                  result_type,
                  receiving_mx,
                  sending_ip,
                  sessions,
                }),
              ),
            ];
          },
        );
        for (let at = 0; at < rows.length; at += BATCH_SIZE)
          await tx
            .insertInto("email_tls_rows")
            .values(rows.slice(at, at + BATCH_SIZE))
            .execute();
        await deleteOldestDays(tx, "email_tls_rows", zone_id, bounds);
        return admission;
      }),

    /**
     * Resolves with session counts grouped by these columns: the groups with the most sessions first, but days in
     * chronological order.
     */
    async countTls<const Group extends TlsGroup>(
      filter: ReportFilter,
      by: readonly Group[],
      limit: number,
    ): Promise<(TlsCounts & Record<Group, string>)[]> {
      const query = tlsRows(filter)
        .where("result_type", "=", "")
        .select([total("successful").as("successful"), total("failed").as("failed")]);
      const groupedQuery = by.length === 0 ? query : query.select([...by]).groupBy([...by]);
      const orderedQuery =
        by.length === 1 && by[0] === "day"
          ? groupedQuery.orderBy("day")
          : by.reduce(
              (sortedQuery, column) => sortedQuery.orderBy(column),
              groupedQuery.orderBy(sql`sum(successful) + sum(failed)`, "desc"),
            );
      return (await db.read(orderedQuery.limit(limit))) as (TlsCounts & Record<Group, string>)[];
    },

    countTlsFailures: (
      filter: ReportFilter,
      limit: number,
    ): Promise<{ resultType: string; receivingMx: string; sessions: number }[]> =>
      db.read(
        tlsRows(filter)
          .where("result_type", "!=", "")
          .select(["result_type as resultType", "receiving_mx as receivingMx", total("sessions").as("sessions")])
          .groupBy(["result_type", "receiving_mx"])
          .orderBy(sql`sum(sessions)`, "desc")
          .orderBy("result_type")
          .orderBy("receiving_mx")
          .limit(limit),
      ),
  };
}
