import { join, resolve } from "node:path";
import type { CopiedResource, TargetResource, WranglerStateResult } from "../../workers/index.ts";
import { type Command, defineCommand } from "../command.ts";
import { plural, printResult, table, type Paint } from "../print.ts";
import { configOptions, localOptions } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

const importWranglerState = defineCommand({
  name: "import wrangler-state",
  summary: "copy the local storage of wrangler into that of `reelpost dev`",
  description: `Copies what \`wrangler dev\` and \`wrangler … --local\` stored for KV, R2 and D1. The state of wrangler is only read, and both programs may
be running. Keys, objects and databases that exist already are kept.`,
  options: {
    from: {
      type: "string",
      placeholder: "dir",
      summary: "state of wrangler, as for its --persist-to",
      defaultText: ".wrangler/state beside the configuration",
      complete: "directory",
    },
    overwrite: { type: "boolean", summary: "replace keys, objects and databases that exist already" },
    "dry-run": { type: "boolean", summary: "list what would be copied" },
    "data-dir": { ...localOptions["data-dir"], summary: "directory of the storage of `reelpost dev`" },
    ...configOptions,
  },
  examples: [
    ["reelpost import wrangler-state --dry-run", "lists namespaces, buckets and databases"],
    ["reelpost import wrangler-state", "copies them"],
  ],
  async run({ from, overwrite = false, "dry-run": dryRun = false, ...values }, _, context) {
    const options = { ...values, url: undefined, token: undefined, account: undefined, local: true };
    const { api, base, target, progress } = await connectStorage(options, context);
    const state =
      from === undefined ? join(target?.root ?? context.cwd, ".wrangler", "state") : resolve(context.cwd, from);
    const resources = (list: readonly TargetResource[] = []) =>
      list.map(({ wranglerIds, localId }) => ({ from: wranglerIds, to: localId }));
    progress.step(`reading ${state}`);
    const result = await api.result<WranglerStateResult>("POST", `${base}/wrangler-state`, {
      json: {
        state,
        kv: resources(target?.kvNamespaces),
        r2: resources(target?.r2Buckets),
        d1: resources(target?.d1Databases),
        overwrite,
        dryRun,
      },
      timeoutMs: null,
    });
    progress.clear();
    printResult(context, result, (paint) => lines(result, dryRun, paint));
    return [...result.kv, ...result.r2, ...result.d1].some(({ problems }) => problems.length > 0) ? 1 : 0;
  },
});

function lines({ kv, r2, d1 }: WranglerStateResult, dryRun: boolean, paint: Paint): string[] {
  const rows = [
    ...kv.map((each) => row("KV namespace", "key", each)),
    ...r2.map((each) => row("R2 bucket", "object", each)),
    ...d1.map((each) => row("D1 database", "table", each)),
  ];
  if (rows.length === 0) return ["The state of wrangler is empty"];
  const problems = [...kv, ...r2, ...d1].flatMap(({ from, problems: some }) =>
    some.map(({ name, reason }) => `failed to copy ${name} of ${from}: ${reason}`),
  );
  return [...table(["kind", "in wrangler", "here", dryRun ? "to copy" : "copied", "kept"], rows, paint), ...problems];
}

const row = (kind: string, item: string, { from, to, copied, kept }: CopiedResource) => [
  kind,
  from,
  to ?? "(not in the configuration)",
  to === null ? "" : plural(copied, item),
  kept === 0 ? "" : plural(kept, item),
];

export const importCommands: readonly Command[] = [importWranglerState];
