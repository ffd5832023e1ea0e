import { plural, printResult } from "../print.ts";
import { defineCommand } from "../command.ts";
import { readServerSettings, serverDataOptions } from "../server-data.ts";

export const migrateCommand = defineCommand({
  name: "migrate",
  summary: "apply the pending migrations of a server's database",
  description: `\`reelpost serve\` does this at startup, unless database.migrate is false. With PostgreSQL, run it before a rolling upgrade:
processes of the previous version continue to work on the new schema, unless the release notes say otherwise. With SQLite, stop the server first.`,
  options: {
    ...serverDataOptions,
    "dry-run": { type: "boolean", summary: "list the pending migrations without applying them" },
  },
  examples: [
    ["reelpost migrate --settings /etc/reelpost/settings.jsonc --dry-run", "lists the pending migrations"],
    ["reelpost migrate --settings /etc/reelpost/settings.jsonc", "applies them"],
  ],
  async run(values, _, context) {
    const { migrateServer } = await import("../../server/index.ts");
    const dryRun = values["dry-run"] === true;
    const { applied, pending, newer } = await migrateServer(await readServerSettings(values, context), { dryRun });
    printResult(context, { dry_run: dryRun, applied: applied.length, pending, newer }, () => [
      ...pending,
      ...(newer.length > 0
        ? [`A newer version has applied ${plural(newer.length, "migration")} that this one does not know.`]
        : []),
      pending.length === 0
        ? "The schema is up to date."
        : `${plural(pending.length, "migration")} ${dryRun ? "pending. To apply, run the command without --dry-run." : "applied."}`,
    ]);
    return 0;
  },
});
