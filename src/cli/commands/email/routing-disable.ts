import { defineCommand } from "../../command.ts";
import { routingLines, type Settings } from "../../email/routing.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingDisable = defineCommand({
  name: "email routing disable",
  summary: "disable Email Routing for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing disable example.com", "deletes the records that `enable` created"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const settings = await zone.api.result<Settings>("DELETE", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(surroundings, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});
