import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectDatabase, databaseArgument } from "../../storage/d1-database.ts";
import { placeOf, unapplied } from "../../storage/migrations.ts";

export const d1MigrationsList = defineCommand({
  name: "d1 migrations list",
  summary: "list pending migrations",
  arguments: [databaseArgument],
  options: storageOptions,
  examples: [["reelpost d1 migrations list DB", "selected by binding"]],
  async run(values, [name], surroundings) {
    const connection = await connectDatabase(name!, values, surroundings);
    const files = await unapplied(connection, placeOf(connection));
    printResult(surroundings, files, () => (files.length === 0 ? [`${name} has all migrations`] : files));
    return 0;
  },
});
