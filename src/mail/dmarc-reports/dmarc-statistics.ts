import type { DmarcCounts, DmarcGroup, ReportRows } from "./report-rows-table.ts";

export interface StatisticsRequest {
  /** The first and the last day, in UTC: "2026-11-20". A report counts for the day on which it begins. */
  since: string;
  until: string;
  /** An author domain, with the names below it. Default: all. */
  domain?: string | undefined;
  /** Entries of each list but that of the days. */
  limit: number;
}

/** The aggregate reports about a zone, added up. */
export interface DmarcStatistics {
  since: string;
  until: string;
  /** Reports received, of any author domain. */
  reports: number;
  totals: DmarcCounts;
  days: ({ day: string } & DmarcCounts)[];
  /** By author domain, by the address that sent the mail, by the reporter and the authenticated domain it reports from: the largest first. */
  domains: ({ domain: string } & DmarcCounts)[];
  sources: ({ sourceIp: string } & DmarcCounts)[];
  reporters: ({ orgName: string; sender: string } & DmarcCounts)[];
}

/** More than there can be. */
const MAX_DAYS = 1000;

export async function dmarcStatistics(
  rows: Pick<ReportRows, "countDmarc" | "countReports">,
  zone: string,
  { since, until, domain, limit }: StatisticsRequest,
): Promise<DmarcStatistics> {
  const counted = <const Group extends DmarcGroup>(by: readonly Group[], most: number) =>
    rows.countDmarc({ zone, since, until, domain }, by, most);
  const end = Date.parse(until) + 86_400_000;
  const [totals] = await counted([], 1);
  const days = await counted(["day"], MAX_DAYS);
  const domains = await counted(["header_from"], limit);
  const sources = await counted(["source_ip"], limit);
  const reporters = await counted(["org_name", "sender"], limit);
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
