import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { AggregateRecord, Disposition } from "./aggregate.ts";
import type { TlsPolicyResult } from "./tls-report.ts";

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

interface DmarcRow {
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
interface TlsRow {
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

interface ReportRowTables {
  email_reports_received: Received;
  email_dmarc_rows: DmarcRow;
  email_tls_rows: TlsRow;
}

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

/** Scope of a query: a range of days, and optionally one author domain with its subdomains. */
interface ReportFilter {
  zone: string;
  since: string;
  until: string;
  domain?: string | undefined;
}

export interface DmarcCounts {
  messages: number;
  /** DKIM or SPF is aligned: DMARC passes. */
  passed: number;
  dkimAligned: number;
  spfAligned: number;
  quarantined: number;
  rejected: number;
}

export interface TlsCounts {
  successful: number;
  failed: number;
}

export type TlsGroup = "day" | "policy_domain" | "policy_type" | "org_name" | "sender";

export type DmarcGroup = "day" | "header_from" | "source_ip" | "org_name" | "sender";

const DAY_MS = 86_400_000;
/** Rows per INSERT. */
const BATCH_SIZE = 500;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

export type ReportRows = ReturnType<typeof createReportRows>;

export function createReportRows(db: Db, { perSender, rowsPerZone }: ReportBounds) {
  const tables = db.tables<ReportRowTables>();

  async function admit(
    tx: Kysely<ReportRowTables>,
    { zone, kind, key, sender, orgName, reportId, begin, end, receivedAt }: ReportHeader,
  ): Promise<"recorded" | "duplicate" | "too many"> {
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
  async function shorten(
    tx: Kysely<ReportRowTables>,
    table: "email_dmarc_rows" | "email_tls_rows",
    zone: string,
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

  const withinDomainSql = (column: string, domain: string) =>
    sql<boolean>`(${sql.ref(column)} = ${domain} or ${sql.ref(column)} like ${`%.${domain.replace(/[\\%_]/g, "\\$&")}`} escape '\\')`;
  const total = (column: "successful" | "failed" | "sessions") =>
    sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;

  function tlsRows({ zone, since, until, domain }: ReportFilter) {
    const rowsQuery = tables
      .selectFrom("email_tls_rows")
      .where("zone_id", "=", zone)
      .where("day", ">=", since)
      .where("day", "<=", until);
    return domain === undefined ? rowsQuery : rowsQuery.where(withinDomainSql("policy_domain", domain));
  }

  return {
    /** Records a whole report atomically; the report is on disk when the promise resolves. */
    recordDmarc: (
      head: ReportHeader,
      records: readonly AggregateRecord[],
    ): Promise<"recorded" | "duplicate" | "too many"> =>
      db.transaction<ReportRowTables, "recorded" | "duplicate" | "too many">(async (tx) => {
        const admission = await admit(tx, head);
        if (admission !== "recorded") return admission;
        const { zone: zone_id, key: report_key, orgName: org_name, sender, begin } = head;
        const day = dayOf(begin);
        const rows = records.map(
          ({ sourceIp: source_ip, headerFrom: header_from, count: messages, disposition, dkim, spf }): DmarcRow => ({
            zone_id,
            report_key,
            day,
            org_name,
            sender,
            source_ip,
            header_from,
            messages,
            disposition,
            dkim: Number(dkim),
            spf: Number(spf),
          }),
        );
        for (let at = 0; at < rows.length; at += BATCH_SIZE)
          await tx
            .insertInto("email_dmarc_rows")
            .values(rows.slice(at, at + BATCH_SIZE))
            .execute();
        await shorten(tx, "email_dmarc_rows", zone_id);
        return admission;
      }),

    /** Like `recordDmarc`, for a TLS report. */
    recordTls: (
      head: ReportHeader,
      policies: readonly TlsPolicyResult[],
    ): Promise<"recorded" | "duplicate" | "too many"> =>
      db.transaction<ReportRowTables, "recorded" | "duplicate" | "too many">(async (tx) => {
        const admission = await admit(tx, head);
        if (admission !== "recorded") return admission;
        const { zone: zone_id, key: report_key, orgName: org_name, sender, begin } = head;
        const rows = policies.flatMap(
          ({ domain: policy_domain, type: policy_type, successful, failed, failures }): TlsRow[] => {
            const row = {
              zone_id,
              report_key,
              day: dayOf(begin),
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
        await shorten(tx, "email_tls_rows", zone_id);
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

    /**
     * Resolves with message counts grouped by these columns: the groups with the most messages first, but days in
     * chronological order.
     */
    async countDmarc<const Group extends DmarcGroup>(
      { zone, since, until, domain }: ReportFilter,
      by: readonly Group[],
      limit: number,
    ): Promise<(DmarcCounts & Record<Group, string>)[]> {
      const sumWhere = (condition: ReturnType<typeof sql<boolean>>) =>
        sql<number>`cast(coalesce(sum(case when ${condition} then messages else 0 end), 0) as bigint)`;
      let query = tables
        .selectFrom("email_dmarc_rows")
        .where("zone_id", "=", zone)
        .where("day", ">=", since)
        .where("day", "<=", until)
        .select([
          sumWhere(sql`1 = 1`).as("messages"),
          sumWhere(sql`dkim = 1 or spf = 1`).as("passed"),
          sumWhere(sql`dkim = 1`).as("dkimAligned"),
          sumWhere(sql`spf = 1`).as("spfAligned"),
          sumWhere(sql`disposition = 'quarantine'`).as("quarantined"),
          sumWhere(sql`disposition = 'reject'`).as("rejected"),
        ]);
      if (domain !== undefined) query = query.where(withinDomainSql("header_from", domain));
      const groupedQuery = by.length === 0 ? query : query.select([...by]).groupBy([...by]);
      const orderedQuery =
        by.length === 1 && by[0] === "day"
          ? groupedQuery.orderBy("day")
          : by.reduce((sortedQuery, column) => sortedQuery.orderBy(column), groupedQuery.orderBy("messages", "desc"));
      return (await db.read(orderedQuery.limit(limit))) as (DmarcCounts & Record<Group, string>)[];
    },

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
      const day = dayOf(before);
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
