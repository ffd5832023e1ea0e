import { collect, pagesOf } from "../../api/lists.ts";
import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { yesNo, type Settings } from "../../email/routing.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailRoutingList = defineCommand({
  name: "email routing list",
  summary: "list zones with their Email Routing status",
  options: serverOptions,
  examples: [["reelpost email routing list", "in the whole account"]],
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const zones = await collect(pagesOf<Settings>(api, `${base}/email/routing/zones`, { perPage: 50 }));
    printResult(surroundings, zones, (paint) =>
      table(
        ["domain", "enabled", "status", "changed", "zone"],
        zones.map((zone) => [zone.name, yesNo(zone.enabled), zone.status, moment(zone.modified), zone.id]),
        paint,
      ),
    );
    return 0;
  },
});
