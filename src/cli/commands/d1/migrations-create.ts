import { join, relative } from "node:path";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { configOptions } from "../../shared-options.ts";
import { createMigration } from "../../storage/migrations.ts";
import { commandErrors } from "../../errors.ts";

export const d1MigrationsCreate = defineCommand({
  name: "d1 migrations create",
  summary: "create an empty migration with the next number",
  arguments: [
    { name: "database", summary: "database name or binding in the configuration", required: true },
    { name: "message", summary: "description of the migration", required: true },
  ],
  options: configOptions,
  examples: [["reelpost d1 migrations create DB 'add users'", "migrations/0001_add_users.sql"]],
  async run({ config, env }, [name, message], surroundings) {
    const { readTarget } = await import("../../../workers/project/index.ts");
    const target = await readTarget({
      cwd: surroundings.cwd,
      ...(config !== undefined && { config }),
      ...(env !== undefined && { environment: env }),
    });
    const configured = target?.d1Databases.find((database) =>
      [database.binding, database.name, database.id].includes(name),
    );
    if (configured === undefined) throw commandErrors.databaseUnbound({ name });
    const file = relative(
      surroundings.cwd,
      join(configured.migrationsDir, await createMigration(configured.migrationsDir, message!)),
    );
    printResult(surroundings, { file }, () => [`Created ${file}`]);
    return 0;
  },
});
