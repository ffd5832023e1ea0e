import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const zoneCreate = defineCommand({
  name: "zone create",
  summary: "create a zone for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: serverOptions,
  examples: [["reelpost zone create example.com", "prints the name servers to enter at the registrar"]],
  async run(values, [domain], surroundings) {
    const { api, account } = await connect(values, surroundings);
    const zone = await api.result<{ id: string; name: string; name_servers: string[] }>("POST", "/zones", {
      json: { name: domain, account: { id: account } },
    });
    printResult(surroundings, zone, () => [
      `Added ${zone.name} (${zone.id}). Name servers for its registrar: ${zone.name_servers.join(", ")}`,
    ]);
    return 0;
  },
});
