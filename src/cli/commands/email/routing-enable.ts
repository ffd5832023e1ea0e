import { defineCommand } from "../../command.ts";
import { routingLines, type Settings } from "../../email/routing.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingEnable = defineCommand({
  name: "email routing enable",
  summary: "enable Email Routing for a domain or a subdomain",
  description: "MX records of another mail service are never replaced: delete them first.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing enable example.com", "creates and locks its MX, SPF and DKIM records"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const settings = await zone.api.result<Settings>("POST", `${zone.path}/email/routing/dns`, { json: nameIn(zone) });
    printResult(surroundings, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});
