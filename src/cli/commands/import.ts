import { join, resolve } from "node:path";
import type { Paint } from "../../kernel/paint.ts";
import type { CopiedResource, WranglerStateImportResult } from "../../workers/index.ts";
import type { TargetResource } from "../../workers/project/index.ts";
import { type Command, defineCommand } from "../command.ts";
import { plural, printResult, table } from "../print.ts";
import { configOptions, localOptions } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";
import { aliasImportCommands } from "./import-aliases.ts";
import { importCloudflare } from "./import-cloudflare.ts";
import { importFolder } from "./import-folder.ts";
import { importVideos } from "./import-videos.ts";

const importWranglerState = defineCommand({
  name: "import wrangler-state",
  summary: "copy wrangler's local storage into the storage of `reelpost dev`",
  description: `Copies the KV, R2 and D1 data that \`wrangler dev\` and \`wrangler … --local\` stored. Wrangler's state does not change, and both programs may
be running. Keys, objects and databases that already exist are kept.`,
  options: {
    from: {
      type: "string",
      placeholder: "dir",
      summary: "wrangler's state directory, the value of its --persist-to",
      defaultText: ".wrangler/state next to the configuration file",
      complete: "directory",
    },
    overwrite: { type: "boolean", summary: "replace keys, objects and databases that already exist" },
    "dry-run": { type: "boolean", summary: "list what would be copied, without copying" },
    "data-dir": { ...localOptions["data-dir"], summary: "storage directory of `reelpost dev`" },
    ...configOptions,
  },
  examples: [
    ["reelpost import wrangler-state --dry-run", "lists namespaces, buckets and databases"],
    ["reelpost import wrangler-state", "copies namespaces, buckets and databases"],
  ],
  async run({ from, overwrite = false, "dry-run": dryRun = false, ...values }, _, context) {
    const options = { ...values, url: undefined, token: undefined, account: undefined, local: true };
    const { api, base, target, progress } = await connectStorage(options, context);
    const stateDirectory =
      from === undefined ? join(target?.userRoot ?? context.cwd, ".wrangler", "state") : resolve(context.cwd, from);
    const toImportResources = (list: readonly TargetResource[] = []) =>
      list.map(({ wranglerIds, localId }) => ({ from: wranglerIds, to: localId }));
    progress.step(`reading ${stateDirectory}`);
    const result = await api.result<WranglerStateImportResult>("POST", `${base}/wrangler-state`, {
      json: {
        state: stateDirectory,
        kv: toImportResources(target?.kvNamespaces),
        r2: toImportResources(target?.r2Buckets),
        d1: toImportResources(target?.d1Databases),
        overwrite,
        dryRun,
      },
      timeoutMs: null,
    });
    progress.clear();
    printResult(context, result, (paint) => resultLines(result, dryRun, paint));
    return [...result.kv, ...result.r2, ...result.d1].some(({ problems }) => problems.length > 0) ? 1 : 0;
  },
});

function resultLines({ kv, r2, d1 }: WranglerStateImportResult, dryRun: boolean, paint: Paint): string[] {
  const rows = [
    ...kv.map((each) => resultRow("KV namespace", "key", each)),
    ...r2.map((each) => resultRow("R2 bucket", "object", each)),
    ...d1.map((each) => resultRow("D1 database", "table", each)),
  ];
  if (rows.length === 0) return ["Wrangler's state is empty"];
  const problems = [...kv, ...r2, ...d1].flatMap(({ from, problems: copyProblems }) =>
    copyProblems.map(({ name, reason }) => `failed to copy ${name} from ${from}: ${reason}`),
  );
  return [...table(["kind", "in wrangler", "here", dryRun ? "to copy" : "copied", "kept"], rows, paint), ...problems];
}

const resultRow = (kind: string, itemNoun: string, { from, to, copied, kept }: CopiedResource) => [
  kind,
  from,
  to ?? "(not in the configuration)",
  to === null ? "" : plural(copied, itemNoun),
  kept === 0 ? "" : plural(kept, itemNoun),
];

export const importCommands: readonly Command[] = [
  importCloudflare,
  importFolder,
  importVideos,
  ...aliasImportCommands,
  importWranglerState,
];
