import type { StatisticsRequest } from "./dmarc-statistics.ts";
import type { ReportRows } from "./report-rows-table.ts";
import type { TlsCounts, TlsGroup } from "./tls-rows-table.ts";

/** Totals of the TLS reports about a zone. */
export interface TlsStatistics {
  since: string;
  until: string;
  /** Number of reports received, for any domain. */
  reports: number;
  totals: TlsCounts;
  days: ({ day: string } & TlsCounts)[];
  /** By policy, by reason and host, by reporter and its authenticated domain; largest counts first. */
  policies: ({ domain: string; policyType: string } & TlsCounts)[];
  failures: { resultType: string; receivingMx: string; sessions: number }[];
  reporters: ({ orgName: string; sender: string } & TlsCounts)[];
}

/** More days than are ever stored. */
const MAX_DAYS = 1000;

export async function tlsStatistics(
  rows: Pick<ReportRows, "countTls" | "countTlsFailures" | "countReports">,
  zone: string,
  { since, until, domain, limit }: StatisticsRequest,
): Promise<TlsStatistics> {
  const filter = { zone, since, until, domain };
  const countBy = <const Group extends TlsGroup>(by: readonly Group[], maxRows: number) =>
    rows.countTls(filter, by, maxRows);
  const [totals] = await countBy([], 1);
  const days = await countBy(["day"], MAX_DAYS);
  const policies = await countBy(["policy_domain", "policy_type"], limit);
  const reporters = await countBy(["org_name", "sender"], limit);
  return {
    since,
    until,
    totals: totals!,
    days,
    failures: await rows.countTlsFailures(filter, limit),
    reports: await rows.countReports("tls", zone, Date.parse(since), Date.parse(until) + 86_400_000),
    policies: policies.map(({ policy_domain, policy_type, ...counts }) => ({
      domain: policy_domain,
      policyType: policy_type,
      ...counts,
    })),
    reporters: reporters.map(({ org_name, ...counts }) => ({ orgName: org_name, ...counts })),
  };
}
