import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { zonesOf } from "../../email/zone.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const zoneList = defineCommand({
  name: "zone list",
  summary: "list zones",
  options: serverOptions,
  examples: [["reelpost zone list", "in the whole account"]],
  async run(values, _, surroundings) {
    const zones = await zonesOf(await connect(values, surroundings));
    printResult(surroundings, zones, (paint) =>
      table(
        ["id", "domain", "status", "added"],
        zones.map((zone) => [zone.id, zone.name, zone.status, moment(zone.created_on)]),
        paint,
      ),
    );
    return 0;
  },
});
