import { defineCommand } from "../../command.ts";
import { neededTable, type Needed } from "../../email/routing.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingDnsGet = defineCommand({
  name: "email routing dns get",
  summary: "show the DNS records that Email Routing needs",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns get example.com", "to copy to another DNS server"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const { name } = nameIn(zone);
    const found = await zone.api.result<Needed[] | { record: Needed[] }>("GET", `${zone.path}/email/routing/dns`, {
      query: { subdomain: name },
    });
    const records = Array.isArray(found) ? found : found.record;
    printResult(surroundings, records, (paint) => neededTable(records, paint));
    return 0;
  },
});
