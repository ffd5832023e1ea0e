import type { ProjectTarget } from "../../workers/project/index.ts";
import { oneLine } from "../../kernel/text.ts";
import type { CommandContext } from "../command.ts";
import { createProgress, type Progress } from "../progress.ts";
import { createApiClient, type ApiClient, type ApiOptions } from "./client.ts";
import { findCredentials, type Given } from "./credentials.ts";
import { connectionErrors } from "./errors.ts";
import { pagesOf } from "./lists.ts";
import { loginFile, readLogin } from "./login-file.ts";

/** A server, an account on it, and the progress display. */
export interface ApiConnection {
  api: ApiClient;
  /** `/accounts/<id>` */
  base: string;
  account: string;
  progress: Progress;
}

/** Limits for a command that waits longer than others. */
type Patience = Pick<ApiOptions, "maxAttempts" | "maxWaitSeconds">;

/** Throws connectionErrors. `configuration`: the configuration file that may contain an account_id. */
export async function connectToApi(
  given: Given,
  context: CommandContext,
  configuration?: Pick<ProjectTarget, "accountId">,
  patience: Patience = {},
): Promise<ApiConnection> {
  const { api, account, progress } = await connectUser(given, context, configuration, patience);
  const id = account ?? (await findOnlyAccount(api));
  return { api, account: id, base: `/accounts/${encodeURIComponent(id)}`, progress };
}

/** Connects to the server for requests that concern the token's user instead of an account. */
export async function connectUser(
  given: Given,
  { cwd, env, version, stderr }: CommandContext,
  configuration?: Pick<ProjectTarget, "accountId">,
  patience: Patience = {},
): Promise<{ api: ApiClient; account: string | undefined; progress: Progress }> {
  const { url, token, account } = findCredentials(
    given,
    { ...(await readDotEnv(cwd)), ...env },
    await readLogin(loginFile(env)),
    configuration?.accountId,
  );
  if (token === undefined) throw connectionErrors.notLoggedIn({ url });
  const progress = createProgress(stderr);
  return {
    api: createApiClient({
      url,
      token,
      version,
      ...patience,
      onWait: (seconds) => progress.step(`the server is busy; retrying in ${seconds} s`),
    }),
    account,
    progress,
  };
}

/**
 * `.env` of the working directory may contain the token and the account. Names for the hosted service are left out: its
 * token would take precedence over the login to this server.
 */
async function readDotEnv(cwd: string): Promise<Record<string, string>> {
  const { readDotEnvFiles } = await import("../../workers/project/index.ts");
  const { vars } = await readDotEnvFiles(cwd, undefined);
  const ownVars = vars.filter(({ name }) => name.startsWith("REELPOST_"));
  return Object.fromEntries(ownVars.map(({ name, value }) => [name, value]));
}

/** Throws noAccount, severalAccounts. `option`: the option that selects an account. */
export async function findOnlyAccount(api: ApiClient, option = "--account"): Promise<string> {
  const accounts: { id: string; name: string }[] = [];
  for await (const account of pagesOf<{ id: string; name: string }>(api, "/accounts", { perPage: 50 })) {
    accounts.push(account);
    if (accounts.length === 20) break;
  }
  if (accounts.length === 0) throw connectionErrors.noAccount({ url: api.url });
  if (accounts.length > 1)
    throw connectionErrors.severalAccounts({
      option,
      list: accounts.map(({ id, name }) => `  ${id}  ${oneLine(name)}`).join("\n"),
    });
  return accounts[0]!.id;
}
