import { sql, type Kysely } from "kysely";
import type { Disposition } from "./aggregate.ts";

interface Received {
  zone_id: string;
  /** The kind of report: "dmarc" or "tls". */
  kind: string;
  /** Identifies a report, so that a repeated one is recognized. */
  report_key: string;
  /** The authenticated domain that sent the report. */
  sender: string;
  org_name: string;
  report_id: string;
  begin_at: number;
  end_at: number;
  received_at: number;
}

export interface DmarcRow {
  zone_id: string;
  report_key: string;
  /** The UTC day, such as "2026-11-20". */
  day: string;
  org_name: string;
  sender: string;
  source_ip: string;
  header_from: string;
  messages: number;
  disposition: Disposition;
  /** 1 means aligned and passed. */
  dkim: number;
  spf: number;
}

/** The sessions of a policy, or the sessions that failed for one reason. */
export interface TlsRow {
  zone_id: string;
  report_key: string;
  /** The UTC day, such as "2026-11-20". */
  day: string;
  org_name: string;
  sender: string;
  policy_domain: string;
  policy_type: string;
  successful: number;
  failed: number;
  /**
   * Result type of failed sessions (RFC 8460 4.3), counted in `sessions`; empty in the row with the totals of a policy.
   */
  result_type: string;
  receiving_mx: string;
  sending_ip: string;
  sessions: number;
}

export interface ReportRowTables {
  email_reports_received: Received;
  email_dmarc_rows: DmarcRow;
  email_tls_rows: TlsRow;
}

/** A report to be recorded. */
export interface ReportHeader {
  zone: string;
  kind: "dmarc" | "tls";
  key: string;
  sender: string;
  orgName: string;
  reportId: string;
  begin: number;
  end: number;
  receivedAt: number;
}

export interface ReportBounds {
  /** Maximum number of reports per day from one sender about a zone. */
  perSender: number;
  /** Maximum number of rows per zone; above it, the oldest days are deleted. */
  rowsPerZone: number;
}

export type ReportAdmission = "recorded" | "duplicate" | "too many";

/** Scope of a query: a range of days, and optionally one author domain with its subdomains. */
export interface ReportFilter {
  zone: string;
  since: string;
  until: string;
  domain?: string | undefined;
}

const DAY_MS = 86_400_000;

/** Records that a report was received. "too many": the limit of its sender is reached. */
export async function admitReport(
  tx: Kysely<ReportRowTables>,
  { zone, kind, key, sender, orgName, reportId, begin, end, receivedAt }: ReportHeader,
  { perSender }: Pick<ReportBounds, "perSender">,
): Promise<ReportAdmission> {
  const receivedRow = {
    zone_id: zone,
    kind,
    report_key: key,
    sender,
    org_name: orgName,
    report_id: reportId,
    begin_at: begin,
    end_at: end,
    received_at: receivedAt,
  };
  const { count } = await tx
    .selectFrom("email_reports_received")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("zone_id", "=", zone)
    .where("sender", "=", sender)
    .where("received_at", ">", receivedAt - DAY_MS)
    .executeTakeFirstOrThrow();
  if (count < perSender) {
    const inserted = await tx
      .insertInto("email_reports_received")
      .values(receivedRow)
      .onConflict((conflict) => conflict.doNothing())
      .returning("report_key")
      .executeTakeFirst();
    return inserted === undefined ? "duplicate" : "recorded";
  }
  return "too many";
}

/** Deletes whole days, oldest first, until the zone is within its limit. */
export async function deleteOldestDays(
  tx: Kysely<ReportRowTables>,
  table: "email_dmarc_rows" | "email_tls_rows",
  zone: string,
  { rowsPerZone }: Pick<ReportBounds, "rowsPerZone">,
): Promise<void> {
  const days = await tx
    .selectFrom(table)
    .select(["day", ({ fn }) => fn.countAll<number>().as("count")])
    .where("zone_id", "=", zone)
    .groupBy("day")
    .orderBy("day", "desc")
    .execute();
  let rows = 0;
  const cutoffDay = days.find(({ count }) => (rows += count) > rowsPerZone);
  if (cutoffDay !== undefined)
    await tx.deleteFrom(table).where("zone_id", "=", zone).where("day", "<=", cutoffDay.day).execute();
}

/** The domain or one of its subdomains. */
export const withinDomainSql = (column: string, domain: string) =>
  sql<boolean>`(${sql.ref(column)} = ${domain} or ${sql.ref(column)} like ${`%.${domain.replace(/[\\%_]/g, "\\$&")}`} escape '\\')`;
