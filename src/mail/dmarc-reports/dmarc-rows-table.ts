import { sql } from "kysely";
import { utcDay } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { AggregateRecord } from "./aggregate.ts";
import {
  admitReport,
  deleteOldestDays,
  withinDomainSql,
  type ReportAdmission,
  type DmarcRow,
  type ReportBounds,
  type ReportFilter,
  type ReportHeader,
  type ReportRowTables,
} from "./received-table.ts";

export interface DmarcCounts {
  messages: number;
  /** DKIM or SPF is aligned: DMARC passes. */
  passed: number;
  dkimAligned: number;
  spfAligned: number;
  quarantined: number;
  rejected: number;
}

export type DmarcGroup = "day" | "header_from" | "source_ip" | "org_name" | "sender";

/** Rows per INSERT. */
const BATCH_SIZE = 500;

export function createDmarcRows(db: Db, bounds: ReportBounds) {
  const tables = db.tables<ReportRowTables>();
  return {
    /** Records a whole report atomically; the report is on disk when the promise resolves. */
    recordDmarc: (head: ReportHeader, records: readonly AggregateRecord[]): Promise<ReportAdmission> =>
      db.transaction<ReportRowTables, ReportAdmission>(async (tx) => {
        const admission = await admitReport(tx, head, bounds);
        if (admission !== "recorded") return admission;
        const { zone: zone_id, key: report_key, orgName: org_name, sender, begin } = head;
        const day = utcDay(begin);
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
        await deleteOldestDays(tx, "email_dmarc_rows", zone_id, bounds);
        return admission;
      }),

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
  };
}
