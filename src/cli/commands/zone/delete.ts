import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { commandErrors } from "../../errors.ts";
import { printResult } from "../../print.ts";
import { yesOption } from "../../shared-options.ts";

export const zoneDelete = defineCommand({
  name: "zone delete",
  summary: "delete a zone with its records and rules",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: { ...yesOption, ...zoneOptions },
  examples: [["reelpost zone delete example.com", "the server then rejects its mail"]],
  async run({ yes, ...values }, [domain], surroundings) {
    const { api, path, zone, domain: given } = await connectZone(domain!, values, surroundings);
    if (zone.name !== given) throw commandErrors.zoneUnknown({ domain: given });
    await confirm(`Delete ${zone.name} with its records and rules?`, yes, surroundings);
    await api.result("DELETE", path);
    printResult(surroundings, { id: zone.id, deleted: true }, () => [`${zone.name} is deleted`]);
    return 0;
  },
});
