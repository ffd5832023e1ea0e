import { defineCommand } from "../../command.ts";
import { routingLines, type Settings } from "../../email/routing.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingDnsUnlock = defineCommand({
  name: "email routing dns unlock",
  summary: "unlock the MX records of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns unlock example.com", "allows changes to the records"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const settings = await zone.api.result<Settings>("PATCH", `${zone.path}/email/routing/dns`, { json: nameIn(zone) });
    printResult(surroundings, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});
