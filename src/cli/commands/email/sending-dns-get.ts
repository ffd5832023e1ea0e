import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { neededTable, type Needed } from "../../email/routing.ts";
import { findSendingDomain, sendingPath } from "../../email/sending.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailSendingDnsGet = defineCommand({
  name: "email sending dns get",
  summary: "show the DNS records that Email Sending needs",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending dns get example.com", "to copy to another DNS server"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const { tag } = await findSendingDomain(zone);
    const records = await zone.api.result<Needed[]>("GET", `${sendingPath(zone)}${at`/${tag}`}/dns`);
    printResult(surroundings, records, (paint) => neededTable(records, paint));
    return 0;
  },
});
