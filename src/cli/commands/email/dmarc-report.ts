import { defineCommand } from "../../command.ts";
import { dmarcLines, type DmarcStatistics } from "../../email/dmarc.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailDmarcReport = defineCommand({
  name: "email dmarc report",
  summary: "show who sends mail for a domain, and whether it passes DMARC",
  description:
    "Sums up the aggregate reports that receivers sent about the domain. A name below the zone shows reports on that name only.",
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
      summary: "maximum number of domains, sources and reporters",
      defaultText: "20",
    },
    ...zoneOptions,
  },
  examples: [
    ["reelpost email dmarc report example.com", "the last 30 days"],
    ["reelpost email dmarc report example.com --since 2026-11-01 --until 2026-11-07 --json", "one week, as JSON"],
  ],
  async run({ since, until, limit = 20, ...values }, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const found = await zone.api.result<DmarcStatistics>("GET", `${zone.path}/email/auth/dmarc-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(surroundings, found, (paint) => dmarcLines(found, paint));
    return 0;
  },
});
