import { resolve } from "node:path";
import { AREAS, createMigration, openState } from "../../migrate/index.ts";
import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { defineCommand, type CommandContext } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { importErrors } from "../migrate/errors.ts";
import { gentle } from "../migrate/gentle.ts";
import { hasWork, planJson, planLines, positionText, reportLines } from "../migrate/print-plan.ts";
import { connectSource, PATIENCE, sourceOptions } from "../migrate/source.ts";
import { painter, plural, printResult } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const DEFAULT_CONCURRENCY = 4;
const STATE_FILE = "reelpost-import.json";

export const importCloudflare = defineCommand({
  name: "import cloudflare",
  summary: "import an account of the hosted service, or of another server",
  description: `Reads an account through the v4 API and creates its zones, DNS records, Email Routing, sending domains, suppressions, workers, KV, R2, D1, videos
and live inputs on this server. It first prints a plan; with --dry-run, it stops there. It changes nothing on the source, except that it creates MP4
downloads for videos without one and deletes them afterwards.

You can interrupt and repeat the command. The state file records the progress, and a later run imports everything that is new or has changed on the source.
Items that differ on this server and were not imported are kept unless you set --overwrite. Nothing is deleted on this server.

Zones, KV namespaces, D1 databases, videos, live inputs and watermark profiles keep their ids if the API token for this server has Account Settings Write on
the operator's account.`,
  options: {
    ...sourceOptions,
    only: {
      type: "string",
      multiple: true,
      choices: AREAS,
      placeholder: "part",
      summary: "import only this part",
      defaultText: "all",
    },
    "dry-run": { type: "boolean", summary: "print the plan and change nothing" },
    overwrite: { type: "boolean", summary: "replace items that differ and were not imported before" },
    "keep-verified": {
      type: "boolean",
      summary: "keep destination addresses verified; use it only if their owners have agreed to receive mail",
    },
    state: {
      type: "string",
      placeholder: "file",
      summary: "file that records the progress",
      defaultText: `${STATE_FILE} in this folder`,
      complete: "file",
    },
    concurrency: {
      type: "number",
      min: 1,
      max: 32,
      summary: "maximum number of concurrent requests to each server",
      defaultText: String(DEFAULT_CONCURRENCY),
    },
    ...yesOption,
    ...serverOptions,
  },
  examples: [
    ["CLOUDFLARE_API_TOKEN=… reelpost import cloudflare --dry-run", "prints the plan"],
    ["reelpost import cloudflare --only zones --only email", "imports DNS and mail only"],
    ["reelpost import cloudflare --from https://old.example.com --yes", "copies from another server without prompting"],
  ],
  async run(values, _, context) {
    const { concurrency = DEFAULT_CONCURRENCY, "dry-run": dryRun = false } = values;
    const interrupt = onInterrupt();
    const statePath = resolve(context.cwd, values.state ?? STATE_FILE);
    try {
      // A token for the hosted service must not be sent to this server.
      const connection = await connectToApi(values, withoutHostedCredentials(context), undefined, PATIENCE);
      const { progress } = connection;
      const target = { api: gentle(connection.api, concurrency), account: connection.account };
      const source = await connectSource(values, context, progress, concurrency);
      if (source.api.url === target.api.url && source.account === target.account)
        throw importErrors.sameAccount({ account: source.account, url: source.api.url });
      const migration = createMigration({
        source,
        target,
        state: openState(statePath, { source, target, dryRun }),
        options: {
          areas: new Set(values.only === undefined || values.only.length === 0 ? AREAS : values.only),
          overwrite: values.overwrite ?? false,
          keepVerified: values["keep-verified"] ?? false,
          concurrency,
        },
        clock: context.clock,
        onStep: (text) => progress.step(text),
        signal: interrupt.signal,
      });
      const plan = await migration.plan();
      progress.clear();
      if (!context.json) for (const line of planLines(plan, painter(context.stdout))) context.stdout.line(line);
      if (dryRun || !hasWork(plan)) {
        printResult(context, planJson(plan), () => (hasWork(plan) ? [] : ["", "Nothing to do."]));
        return 0;
      }
      const count = plan.items.filter(({ apply }) => apply !== undefined).length;
      await confirm(
        `Import ${plural(count, "item")} into account ${target.account} on ${target.api.url}?`,
        values.yes,
        context,
      );
      const report = await migration.apply(plan, (position) => progress.step(positionText(position)));
      progress.clear();
      printResult(context, { ...planJson(plan), report }, (paint) => ["", ...reportLines(report, paint)]);
      return report.failed.length > 0 ? 1 : 0;
    } catch (thrown) {
      throw interrupt.signal.aborted ? importErrors.interrupted({ state: statePath }, { cause: thrown }) : thrown;
    } finally {
      interrupt.release();
    }
  },
});

function withoutHostedCredentials(context: CommandContext): CommandContext {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !name.startsWith("CLOUDFLARE_")));
  return { ...context, env };
}
