import { resolve } from "node:path";
import type { Paint } from "../../kernel/paint.ts";
import { formatSize } from "../../kernel/text.ts";
import { AREAS, createExport, type ExportManifest, type PlannedItem } from "../../migrate/index.ts";
import { connectToApi } from "../api/connect.ts";
import { defineCommand } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { importErrors } from "../migrate/errors.ts";
import { limitConcurrency } from "../migrate/limit-concurrency.ts";
import { partsIn } from "../migrate/parts.ts";
import { listLines, positionText } from "../migrate/print-plan.ts";
import { RETRY_LIMITS } from "../migrate/source.ts";
import { printResult, table } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

const DEFAULT_CONCURRENCY = 4;

export const exportAccount = defineCommand({
  name: "export",
  summary: "write an account to a folder of open formats",
  description: `Writes zone files, modules of workers, KV as NDJSON, R2 objects, SQL dumps, stored messages as .eml, original videos with captions, and the
results of the v4 API as JSON. docs/migrate.md describes the files. \`reelpost import folder\` reads them.

You can interrupt the command: run it again to continue, with the same folder and options. Files that are complete are kept. The folder contains the keys of
live inputs and outputs, and all your data; only you can read it. The API does not return the values of secrets, so the folder contains only their names.`,
  arguments: [{ name: "dir", summary: "a new or empty folder", required: true, complete: "directory" }],
  options: {
    only: {
      type: "string",
      multiple: true,
      choices: AREAS,
      placeholder: "part",
      summary: "export only this part",
      defaultText: "all",
    },
    "dry-run": { type: "boolean", summary: "list the resources and write nothing" },
    concurrency: {
      type: "number",
      min: 1,
      max: 32,
      summary: "maximum number of concurrent requests",
      defaultText: String(DEFAULT_CONCURRENCY),
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost export ./account", "the whole account"],
    ["reelpost export ./data --only kv --only r2 --only d1", "only the storage of workers"],
  ],
  async run(values, [dir], context) {
    const { concurrency = DEFAULT_CONCURRENCY } = values;
    const folder = resolve(context.cwd, dir!);
    const interrupt = onInterrupt();
    try {
      const { api, account, progress } = await connectToApi(values, context, undefined, RETRY_LIMITS);
      const accountExport = createExport({
        source: { api: limitConcurrency(api, concurrency), account },
        folder,
        areas: new Set(partsIn(values.only)),
        concurrency,
        clock: context.clock,
        generator: `reelpost ${context.version}`,
        onStep: (text) => progress.step(text),
        signal: interrupt.signal,
      });
      const items = await accountExport.plan();
      if (values["dry-run"] === true) {
        progress.clear();
        const shown = items
          .filter(accountExport.isResource)
          .map(({ kind, name, bytes }) => ({ kind, name, ...(bytes !== undefined && { bytes }) }));
        printResult(context, { items: shown }, (paint) => planLines(shown, paint));
        return 0;
      }
      const manifest = await accountExport.run(items, (position) => progress.step(positionText(position)));
      progress.clear();
      printResult(context, { folder, ...manifest }, (paint) => manifestLines(manifest, folder, paint));
      return manifest.complete ? 0 : 1;
    } catch (thrown) {
      throw interrupt.signal.aborted ? importErrors.exportInterrupted({}, { cause: thrown }) : thrown;
    } finally {
      interrupt.release();
    }
  },
});

function planLines(items: readonly Pick<PlannedItem, "kind" | "name" | "bytes">[], paint: Paint): string[] {
  if (items.length === 0) return ["The account has no resources to list."];
  const rows = [...Map.groupBy(items, ({ kind }) => kind)].map(([kind, group]) => {
    const bytes = group.reduce((sum, item) => sum + (item.bytes ?? 0), 0);
    return [kind, group.length, bytes === 0 ? "" : formatSize(bytes)];
  });
  return table(["", "count", "size"], rows, paint);
}

function manifestLines({ counts, refused, failed, warnings }: ExportManifest, folder: string, paint: Paint): string[] {
  const rows = Object.entries(counts).filter(([, count]) => count > 0);
  return [
    ...(rows.length === 0 ? [] : [...table(["exported", "count"], rows, paint), ""]),
    `Exported the account to ${folder}`,
    ...listLines(
      "Failed; run the command again to retry",
      failed,
      ({ kind, name, reason }) => `${kind} ${name}: ${reason}`,
    ),
    ...listLines("Access refused", Object.entries(refused), ([path, reason]) => `${path}: ${reason}`),
    ...listLines("Exported in part", warnings, ({ kind, name, text }) => `${kind} ${name}: ${text}`),
  ];
}
