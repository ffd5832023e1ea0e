import type { Paint } from "../../kernel/paint.ts";
import { nameValueLines, table } from "../print.ts";

interface Counts {
  messages: number;
  passed: number;
  dkim_aligned: number;
  spf_aligned: number;
  quarantined: number;
  rejected: number;
}

export interface ApiDmarcStatistics {
  since: string;
  until: string;
  reports: number;
  totals: Counts;
  days: ({ day: string } & Counts)[];
  domains: ({ domain: string } & Counts)[];
  sources: ({ source_ip: string } & Counts)[];
  reporters: ({ org_name: string; sender: string } & Counts)[];
}

const TITLES = ["messages", "pass", "DKIM", "SPF", "quarantined", "rejected"];
const cells = ({ messages, passed, dkim_aligned: dkim, spf_aligned: spf, quarantined, rejected }: Counts) => [
  messages,
  percent(passed, messages),
  percent(dkim, messages),
  percent(spf, messages),
  quarantined,
  rejected,
];
const percent = (part: number, whole: number) => (whole === 0 ? "" : `${Math.floor((part / whole) * 1000) / 10}%`);

export function dmarcLines(
  { since, until, reports, totals, domains, sources, reporters }: ApiDmarcStatistics,
  paint: Paint,
): string[] {
  const summary = nameValueLines(
    [
      ["period", `${since} to ${until}`],
      ["reports", String(reports)],
      ["messages", String(totals.messages)],
      ["DMARC pass", percent(totals.passed, totals.messages) || undefined],
    ],
    paint,
  );
  if (totals.messages === 0) return summary;
  return [
    ...summary,
    "",
    ...table(
      ["from domain", ...TITLES],
      domains.map((domain) => [domain.domain, ...cells(domain)]),
      paint,
    ),
    "",
    ...table(
      ["source", ...TITLES],
      sources.map((source) => [source.source_ip, ...cells(source)]),
      paint,
    ),
    "",
    ...table(
      ["reporter", "reports from", ...TITLES],
      reporters.map((reporter) => [reporter.org_name, reporter.sender, ...cells(reporter)]),
      paint,
    ),
  ];
}
