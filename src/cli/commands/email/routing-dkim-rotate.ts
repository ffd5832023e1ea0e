import { defineCommand } from "../../command.ts";
import { dkimTable, type DkimKey } from "../../email/dkim.ts";
import { connectZone, nameIn, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingDkimRotate = defineCommand({
  name: "email routing dkim rotate",
  summary: "rotate the DKIM keys for forwarded mail of a domain",
  description:
    "The new keys are published immediately and sign once their records are visible everywhere. The old ones stay in DNS for mail in transit.",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim rotate example.com", "without interruption"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const keys = await zone.api.result<DkimKey[]>("POST", `${zone.path}/email/routing/dkim/rotate`, {
      json: nameIn(zone),
    });
    printResult(surroundings, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});
