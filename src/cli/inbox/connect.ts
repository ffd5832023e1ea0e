import { join, resolve } from "node:path";
import { createApiClient, type ApiClient } from "../api/client.ts";
import type { CommandContext, Options } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { configOptions, localOptions } from "../shared-options.ts";
import { configurationOf } from "../worker-of.ts";

/** Options that select the development server. */
export const inboxOptions = {
  ...configOptions,
  "data-dir": { ...localOptions["data-dir"], summary: "data directory of `reelpost dev`" },
} as const satisfies Options;

interface InboxValues {
  config: string | undefined;
  env: string | undefined;
  "data-dir": string | undefined;
}

/** Connects to the running development server of the project. Throws devNotRunning. */
export async function connectInbox(
  values: InboxValues,
  { cwd, env, version }: CommandContext,
): Promise<{ api: ApiClient; messages: string }> {
  const [{ findDevServer }, { readSettings }] = await Promise.all([
    import("../../server/index.ts"),
    import("../../kernel/settings-read.ts"),
  ]);
  const target = await configurationOf(values, { cwd });
  const { settings } = await readSettings({ cwd, env });
  const configured =
    env.REELPOST_DATA_DIR === undefined ? join(target?.userRoot ?? cwd, ".reelpost") : settings.data_dir;
  const directory = resolve(cwd, values["data-dir"] ?? configured);
  const server = findDevServer(directory);
  if (server === undefined) throw commandErrors.devNotRunning({ directory });
  const { url, token, account } = server;
  return {
    api: createApiClient({ url, token, version }),
    messages: `/accounts/${account}/email/inbox/messages`,
  };
}
