import { defineCommand } from "../../command.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const zoneExport = defineCommand({
  name: "zone export",
  summary: "print the records of a domain as a zone file",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost zone export example.com > example.com.zone", "for another DNS server"]],
  async run(values, [domain], surroundings) {
    const { api, path } = await connectZone(domain!, values, surroundings);
    const file = await (await api.raw("GET", `${path}/dns_records/export`)).text();
    printResult(surroundings, { file }, () => [file.trimEnd()]);
    return 0;
  },
});
