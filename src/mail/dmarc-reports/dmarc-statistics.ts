import type { DmarcCounts, DmarcGroup } from "./dmarc-rows-table.ts";
import type { ReportRows } from "./report-rows-table.ts";

export interface StatisticsRequest {
  /** The first and last day, in UTC: "2026-11-20". A report counts for the day on which its period begins. */
  since: string;
  until: string;
  /** An author domain, including its subdomains. Default: all. */
  domain?: string | undefined;
  /** Maximum number of entries per list, except the list of days. */
  limit: number;
}

/** Totals of the aggregate reports about a zone. */
export interface DmarcStatistics {
  since: string;
  until: string;
  /** Number of reports received, for any author domain. */
  reports: number;
  totals: DmarcCounts;
  days: ({ day: string } & DmarcCounts)[];
  /** By author domain, by source IP, by reporter and its authenticated domain; largest counts first. */
  domains: ({ domain: string } & DmarcCounts)[];
  sources: ({ sourceIp: string } & DmarcCounts)[];
  reporters: ({ orgName: string; sender: string } & DmarcCounts)[];
}

/** More days than are ever stored. */
const MAX_DAYS = 1000;

export async function dmarcStatistics(
  rows: Pick<ReportRows, "countDmarc" | "countReports">,
  zone: string,
  { since, until, domain, limit }: StatisticsRequest,
): Promise<DmarcStatistics> {
  const countBy = <const Group extends DmarcGroup>(by: readonly Group[], maxRows: number) =>
    rows.countDmarc({ zone, since, until, domain }, by, maxRows);
  const end = Date.parse(until) + 86_400_000;
  const [totals] = await countBy([], 1);
  const days = await countBy(["day"], MAX_DAYS);
  const domains = await countBy(["header_from"], limit);
  const sources = await countBy(["source_ip"], limit);
  const reporters = await countBy(["org_name", "sender"], limit);
  return {
    since,
    until,
    totals: totals!,
    days,
    reports: await rows.countReports("dmarc", zone, Date.parse(since), end),
    domains: domains.map(({ header_from, ...counts }) => ({ domain: header_from, ...counts })),
    sources: sources.map(({ source_ip, ...counts }) => ({ sourceIp: source_ip, ...counts })),
    reporters: reporters.map(({ org_name, ...counts }) => ({ orgName: org_name, ...counts })),
  };
}
