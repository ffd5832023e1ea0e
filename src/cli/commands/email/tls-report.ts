import { defineCommand } from "../../command.ts";
import { tlsLines, type TlsStatistics } from "../../email/tls.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailTlsReport = defineCommand({
  name: "email tls report",
  summary: "show TLS reports: whether sending servers use TLS as the domain's policies require",
  description:
    "Sums up the TLS reports (RFC 8460) that senders sent about the domain. A name below the zone shows reports on that name only.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    since: {
      type: "string",
      placeholder: "day",
      summary: "first day (UTC)",
      defaultText: "29 days before the last",
    },
    until: { type: "string", placeholder: "day", summary: "last day (UTC)", defaultText: "today" },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of policies, failures and reporters",
      defaultText: "20",
    },
    ...zoneOptions,
  },
  examples: [["reelpost email tls report example.com", "the last 30 days"]],
  async run({ since, until, limit = 20, ...values }, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const found = await zone.api.result<TlsStatistics>("GET", `${zone.path}/email/auth/tls-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(surroundings, found, (paint) => tlsLines(found, paint));
    return 0;
  },
});
