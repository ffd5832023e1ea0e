import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { plural, printResult } from "../../print.ts";
import { storageOptions, yesOption } from "../../shared-options.ts";
import { connectDatabase, databaseArgument } from "../../storage/d1-database.ts";
import { applyMigration, placeOf, unapplied } from "../../storage/migrations.ts";
import { commandErrors } from "../../errors.ts";

export const d1MigrationsApply = defineCommand({
  name: "d1 migrations apply",
  summary: "apply pending migrations",
  description:
    "Migrations run in the order of their numbers. The first failure stops; migrations before it stay applied.",
  arguments: [databaseArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost d1 migrations apply DB --yes", "in a CI job, before the deploy"]],
  async run({ yes, ...values }, [name], surroundings) {
    const connection = await connectDatabase(name!, values, surroundings);
    const place = placeOf(connection);
    const files = await unapplied(connection, place);
    if (files.length > 0)
      await confirm(`Run ${plural(files.length, "migration")} on ${name}: ${files.join(", ")}?`, yes, surroundings);
    for (const [done, file] of files.entries()) {
      connection.progress.step(`${file} (${done + 1} of ${files.length})`);
      await applyMigration(connection, place, file).catch((cause: unknown) => {
        connection.progress.clear();
        throw commandErrors.migrationFailed(
          { file, reason: cause instanceof Error ? cause.message : String(cause), done },
          { cause },
        );
      });
    }
    connection.progress.clear();
    printResult(surroundings, { database: connection.id, applied: files }, () =>
      files.length === 0 ? [`${name} has all migrations`] : files.map((file) => `${file} ran`),
    );
    return 0;
  },
});
