import { type Command, defineCommand } from "../command.ts";
import { tlsLines, type ApiTlsStatistics } from "../email/tls.ts";
import { reportPeriodOptions } from "../email/report-period.ts";
import { connectZone, nameIn, zoneOptions } from "../email/zone.ts";
import { printResult } from "../print.ts";
import { limitOption } from "../shared-options.ts";

const emailTlsReport = defineCommand({
  name: "email tls report",
  summary: "show TLS reports: whether sending servers use TLS as the domain's policies require",
  description:
    "Summarizes the TLS reports (RFC 8460) that senders sent about the domain. For a subdomain, only reports about that name are shown.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    ...reportPeriodOptions,
    ...limitOption(1000, 20, "policies, failures and reporters"),
    ...zoneOptions,
  },
  examples: [["reelpost email tls report example.com", "the last 30 days"]],
  async run({ since, until, limit = 20, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const found = await zone.api.result<ApiTlsStatistics>("GET", `${zone.path}/email/auth/tls-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(context, found, (paint) => tlsLines(found, paint));
    return 0;
  },
});

export const emailTlsCommands: readonly Command[] = [emailTlsReport];
