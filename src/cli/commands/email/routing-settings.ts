import { defineCommand } from "../../command.ts";
import { routingLines, type Settings } from "../../email/routing.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingSettings = defineCommand({
  name: "email routing settings",
  summary: "show the Email Routing settings of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing settings example.com", "includes the status of its DNS records"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const settings = await zone.api.result<Settings>("GET", `${zone.path}/email/routing`);
    printResult(surroundings, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});
