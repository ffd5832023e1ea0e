import { defineCommand } from "../../command.ts";
import { dkimTable, type DkimKey } from "../../email/dkim.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingDkimList = defineCommand({
  name: "email routing dkim list",
  summary: "list the DKIM keys for forwarded mail of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim list example.com", "the active key and its successor"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const keys = await zone.api.result<DkimKey[]>("GET", `${zone.path}/email/routing/dkim`, {
      query: { subdomain: nameIn(zone).name },
    });
    printResult(surroundings, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});
