import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import type { Database } from "../../storage/d1-database.ts";
import { connectStorage } from "../../worker-of.ts";

export const d1Create = defineCommand({
  name: "d1 create",
  summary: "create a D1 database",
  arguments: [{ name: "name", summary: "name of the database", required: true }],
  options: storageOptions,
  examples: [["reelpost d1 create letters", "prints the entry for the configuration"]],
  async run(values, [name], surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const database = await api.result<Database>("POST", `${base}/d1/database`, { json: { name } });
    printResult(surroundings, database, () => [
      `Created the D1 database ${database.name}. In the configuration:`,
      `  "d1_databases": [{ "binding": "DB", "database_name": "${database.name}", "database_id": "${database.uuid}" }]`,
    ]);
    return 0;
  },
});
