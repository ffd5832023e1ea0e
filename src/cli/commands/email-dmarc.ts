import { oneLine } from "../../kernel/text.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand, type CommandContext } from "../command.ts";
import { dmarcLines, type ApiDmarcStatistics } from "../email/dmarc.ts";
import { reportPeriodOptions } from "../email/report-period.ts";
import { connectZone, zoneOptions, type ZoneConnection, nameIn } from "../email/zone.ts";
import { nameValueLines, printResult } from "../print.ts";
import { limitOption, yesOption } from "../shared-options.ts";

type Problem = "missing-dmarc-report" | "multiple-dmarc-reports" | "missing-dmarc-rua" | "cname-on-dmarc-record";

interface DmarcReports {
  enabled: boolean;
  status?: Problem;
  records: { dmarc_records: { content: string }[] };
}

const PROBLEMS: Record<Problem, string> = {
  "missing-dmarc-report": "the domain has no DMARC record; enable the reports again to create it",
  "multiple-dmarc-reports": "the domain has more than one DMARC record; delete all but one",
  "missing-dmarc-rua": "the DMARC record lacks the report address; enable the reports again to add it",
  "cname-on-dmarc-record": "the name _dmarc is a CNAME of a name without a DMARC record; add the record there",
};
const domainArgument = { name: "domain", summary: "domain such as example.com", required: true } as const;
const pathOf = ({ path }: ZoneConnection) => `${path}/email/auth/dmarc-reports`;

function printReports(context: CommandContext, { zone }: ZoneConnection, reports: DmarcReports): void {
  const { enabled, status, records } = reports;
  printResult(context, reports, (paint) =>
    nameValueLines(
      [
        ["domain", zone.name],
        ["reports", enabled ? "enabled" : "disabled"],
        ["problem", enabled && status !== undefined ? PROBLEMS[status] : undefined],
        ...records.dmarc_records.map(({ content }): [string, string] => ["DMARC record", oneLine(content)]),
      ],
      paint,
    ),
  );
}

const emailDmarcGet = defineCommand({
  name: "email dmarc get",
  summary: "show whether a domain requests DMARC reports, and its DMARC record",
  arguments: [domainArgument],
  options: zoneOptions,
  examples: [["reelpost email dmarc get example.com", "the state and the record"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    printReports(context, zone, await zone.api.result<DmarcReports>("GET", pathOf(zone)));
    return 0;
  },
});

const emailDmarcEnable = defineCommand({
  name: "email dmarc enable",
  summary: "request DMARC reports for a domain",
  description:
    "Adds the server's report address to the domain's DMARC record, and creates the record if it is missing. TLS reports are requested by a separate record, which is published with the MTA-STS policy.",
  arguments: [domainArgument],
  options: zoneOptions,
  examples: [["reelpost email dmarc enable example.com", "receivers then send a report each day"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const reports = await zone.api.result<DmarcReports>("PATCH", pathOf(zone), { json: { enabled: true } });
    printReports(context, zone, reports);
    return 0;
  },
});

const emailDmarcDisable = defineCommand({
  name: "email dmarc disable",
  summary: "stop requesting DMARC reports for a domain",
  description: "Removes the server's report address from the DMARC record. Statistics are kept.",
  arguments: [domainArgument],
  options: { ...yesOption, ...zoneOptions },
  examples: [["reelpost email dmarc disable example.com --yes", "in a script"]],
  async run({ yes, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    await confirm(`Stop requesting DMARC reports for ${zone.zone.name}?`, yes, context);
    const reports = await zone.api.result<DmarcReports>("PATCH", pathOf(zone), { json: { enabled: false } });
    printReports(context, zone, reports);
    return 0;
  },
});

const emailDmarcReport = defineCommand({
  name: "email dmarc report",
  summary: "show who sends mail for a domain, and whether it passes DMARC",
  description:
    "Summarizes the aggregate reports that receivers sent about the domain. For a subdomain, only reports about that name are shown.",
  arguments: [domainArgument],
  options: {
    ...reportPeriodOptions,
    ...limitOption(1000, 20, "domains, sources and reporters"),
    ...zoneOptions,
  },
  examples: [
    ["reelpost email dmarc report example.com", "the last 30 days"],
    ["reelpost email dmarc report example.com --since 2026-11-01 --until 2026-11-07 --json", "one week, as JSON"],
  ],
  async run({ since, until, limit = 20, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const found = await zone.api.result<ApiDmarcStatistics>("GET", `${zone.path}/email/auth/dmarc-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(context, found, (paint) => dmarcLines(found, paint));
    return 0;
  },
});

export const emailDmarcCommands: readonly Command[] = [
  emailDmarcGet,
  emailDmarcEnable,
  emailDmarcDisable,
  emailDmarcReport,
];
