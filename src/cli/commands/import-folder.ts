import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { openExport } from "../../migrate/index.ts";
import { createApiClient } from "../api/client.ts";
import { defineCommand } from "../command.ts";
import { accountImportOptions, importAccount } from "../migrate/import-account.ts";

export const importFolder = defineCommand({
  name: "import folder",
  summary: "import an account from a folder that `reelpost export` wrote",
  description: `Creates the resources of an exported account on this server, like \`reelpost import cloudflare\`: it first prints a plan, can be interrupted and
repeated, and keeps ids where the API token allows it. It reads only the folder.

The values of secrets, the messages and the message log are not imported.`,
  arguments: [{ name: "dir", summary: "the folder", required: true, complete: "directory" }],
  options: accountImportOptions,
  examples: [
    ["reelpost import folder ./account --dry-run", "prints the plan"],
    ["reelpost import folder ./account --only kv --only d1", "imports KV and D1 only"],
  ],
  async run(values, [dir], context) {
    const folder = resolve(context.cwd, dir!);
    const exported = await openExport(folder);
    try {
      return await importAccount(
        values,
        context,
        async () => ({
          api: {
            ...createApiClient({ url: exported.url, token: "", version: context.version, fetch: exported.fetch }),
            // The state file records the folder as the source of the import.
            url: pathToFileURL(folder).href,
          },
          account: exported.manifest.source.account,
          fetch: exported.fetch,
        }),
        exported.partsOf,
      );
    } finally {
      await exported.close();
    }
  },
});
