import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions, yesOption } from "../../shared-options.ts";
import { connectDatabase, databaseArgument } from "../../storage/d1-database.ts";

export const d1Delete = defineCommand({
  name: "d1 delete",
  summary: "delete a database and all its data",
  arguments: [databaseArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost d1 delete letters --yes", "in a script"]],
  async run({ yes, ...values }, [name], surroundings) {
    const { api, database, id } = await connectDatabase(name!, values, surroundings);
    await confirm(`Delete the D1 database ${name} (${id}) with all its data?`, yes, surroundings);
    await api.result("DELETE", database);
    printResult(surroundings, { id, deleted: true }, () => [`${name} is deleted`]);
    return 0;
  },
});
