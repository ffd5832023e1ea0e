import { resolve } from "node:path";
import { painter } from "../../kernel/paint.ts";
import { AREAS, createMigration, openState, type Area, type MigrationEndpoint } from "../../migrate/index.ts";
import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import type { CommandContext, Options, Values } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { plural, printResult } from "../print.ts";
import type { Progress } from "../progress.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { importErrors } from "./errors.ts";
import { limitConcurrency } from "./limit-concurrency.ts";
import { hasWork, planJson, planLines, positionText, reportLines } from "./print-plan.ts";
import { partsIn } from "./parts.ts";
import { RETRY_LIMITS } from "./source.ts";

const DEFAULT_CONCURRENCY = 4;
const STATE_FILE = "reelpost-import.json";

/** Options of the commands that import an account, apart from its source. */
export const accountImportOptions = {
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
} as const satisfies Options;

/** Prints the plan, asks for confirmation, imports, and prints the report. Resolves with the exit code. */
export async function importAccount(
  values: Values<typeof accountImportOptions>,
  context: CommandContext,
  connect: (progress: Progress, concurrency: number) => Promise<MigrationEndpoint>,
  partsOf: (requested: readonly Area[]) => readonly Area[] = (requested) => requested,
): Promise<number> {
  const { concurrency = DEFAULT_CONCURRENCY, "dry-run": dryRun = false } = values;
  const interrupt = onInterrupt();
  const statePath = resolve(context.cwd, values.state ?? STATE_FILE);
  try {
    const connection = await connectToApi(values, context, undefined, RETRY_LIMITS);
    const { progress } = connection;
    const target = { api: limitConcurrency(connection.api, concurrency), account: connection.account };
    const source = await connect(progress, concurrency);
    if (source.api.url === target.api.url && source.account === target.account)
      throw importErrors.sameAccount({ account: source.account, url: source.api.url });
    const migration = createMigration({
      source,
      target,
      state: openState(statePath, { source, target, dryRun }),
      options: {
        areas: new Set(partsOf(partsIn(values.only))),
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
}
