import { facts, table, type Paint } from "../print.ts";

interface Sessions {
  successful: number;
  failed: number;
}

export interface TlsStatistics {
  since: string;
  until: string;
  reports: number;
  totals: Sessions;
  days: ({ day: string } & Sessions)[];
  policies: ({ domain: string; policy_type: string } & Sessions)[];
  failures: { result_type: string; receiving_mx: string; sessions: number }[];
  reporters: ({ org_name: string; sender: string } & Sessions)[];
}

export function tlsLines(
  { since, until, reports, totals, policies, failures, reporters }: TlsStatistics,
  paint: Paint,
): string[] {
  const summary = facts(
    [
      ["period", `${since} to ${until}`],
      ["reports", String(reports)],
      ["sessions", String(totals.successful + totals.failed)],
      ["failed", String(totals.failed)],
    ],
    paint,
  );
  if (policies.length === 0) return summary;
  return [
    ...summary,
    "",
    ...table(
      ["domain", "policy", "successful", "failed"],
      policies.map((item) => [item.domain, item.policy_type, item.successful, item.failed]),
      paint,
    ),
    ...(failures.length === 0
      ? []
      : [
          "",
          ...table(
            ["failure", "MX host", "sessions"],
            failures.map((item) => [item.result_type, item.receiving_mx, item.sessions]),
            paint,
          ),
        ]),
    "",
    ...table(
      ["reporter", "reports from", "successful", "failed"],
      reporters.map((item) => [item.org_name, item.sender, item.successful, item.failed]),
      paint,
    ),
  ];
}
