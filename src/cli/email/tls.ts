import type { Paint } from "../../kernel/paint.ts";
import { nameValueLines, table } from "../print.ts";

interface Sessions {
  successful: number;
  failed: number;
}

export interface ApiTlsStatistics {
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
  { since, until, reports, totals, policies, failures, reporters }: ApiTlsStatistics,
  paint: Paint,
): string[] {
  const summary = nameValueLines(
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
      policies.map((policy) => [policy.domain, policy.policy_type, policy.successful, policy.failed]),
      paint,
    ),
    ...(failures.length === 0
      ? []
      : [
          "",
          ...table(
            ["failure", "MX host", "sessions"],
            failures.map((failure) => [failure.result_type, failure.receiving_mx, failure.sessions]),
            paint,
          ),
        ]),
    "",
    ...table(
      ["reporter", "reports from", "successful", "failed"],
      reporters.map((reporter) => [reporter.org_name, reporter.sender, reporter.successful, reporter.failed]),
      paint,
    ),
  ];
}
