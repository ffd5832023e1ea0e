import { ask, askHidden, canAsk } from "../ask.ts";
import { createApiClient } from "../api/client.ts";
import { DEFAULT_URL, apiUrl, findCredentials } from "../api/credentials.ts";
import { connectionErrors } from "../api/errors.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { loginFile, readLogin, writeLogin } from "../api/login-file.ts";
import { defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { oneLine } from "../../kernel/text.ts";
import { printResult } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

export const login = defineCommand({
  name: "login",
  summary: "save a server URL and an API token for later commands",
  description: `Asks for the server URL and an API token, verifies them, and writes them to ~/.config/reelpost/credentials.json (below XDG_CONFIG_HOME if set), readable by you only.
\`reelpost serve\` prints a first token when it starts with an empty data directory.

A CI job needs no login: set API_TOKEN, API_BASE_URL and, if the token has access to several accounts, ACCOUNT_ID.`,
  options: serverOptions,
  examples: [
    ["reelpost login", "prompts for the URL and the token"],
    ['reelpost login --url https://mail.example.com --token "$TOKEN"', "without a prompt"],
  ],
  async run(values, _, context) {
    const { env, version, json } = context;
    const file = loginFile(env);
    // An unreadable login file is about to be replaced.
    const old = await readLogin(file).catch(() => undefined);
    const isInteractive = canAsk(context);
    const knownCredentials = findCredentials({ url: values.url }, env, old);
    const url =
      values.url === undefined && isInteractive
        ? apiUrl(
            (await ask(`Server URL [${knownCredentials.url}]: `, context)) || knownCredentials.url || DEFAULT_URL,
            "the input",
          )
        : knownCredentials.url;
    const token = values.token ?? (isInteractive ? (await askHidden("API token: ", context)).trim() : undefined);
    if (token === undefined || token === "") throw connectionErrors.notLoggedIn({ url });

    const api = createApiClient({ url, token, version });
    await api.result("GET", "/user/tokens/verify");
    const accounts = await collectItems(pagesOf<{ id: string; name: string }>(api, "/accounts", { perPage: 50 }));
    if (values.account !== undefined && !accounts.some(({ id }) => id === values.account))
      throw commandErrors.accountUnknown({ id: values.account, list: accounts.map(({ id }) => id).join(", ") });
    await writeLogin(file, { url, token, ...(values.account !== undefined && { account: values.account }) });
    printResult({ ...context, json }, { url, accounts: accounts.map(({ id, name }) => ({ id, name })), file }, () => [
      `Logged in to ${url}`,
      ...accounts.map(({ id, name }) => `  account ${id}  ${oneLine(name)}`),
      `Stored in ${file}`,
    ]);
    return 0;
  },
});
