import { defineCommand, type CommandContext } from "../command.ts";
import { accountImportOptions, importAccount } from "../migrate/import-account.ts";
import { connectSource, sourceOptions } from "../migrate/source.ts";

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
  options: { ...sourceOptions, ...accountImportOptions },
  examples: [
    ["CLOUDFLARE_API_TOKEN=… reelpost import cloudflare --dry-run", "prints the plan"],
    ["reelpost import cloudflare --only zones --only email", "imports DNS and mail only"],
    ["reelpost import cloudflare --from https://old.example.com --yes", "copies from another server without prompting"],
  ],
  run: (values, _, context) =>
    // A token for the hosted service must not be sent to this server.
    importAccount(values, withoutHostedCredentials(context), (progress, concurrency) =>
      connectSource(values, context, progress, concurrency),
    ),
});

function withoutHostedCredentials(context: CommandContext): CommandContext {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !name.startsWith("CLOUDFLARE_")));
  return { ...context, env };
}
