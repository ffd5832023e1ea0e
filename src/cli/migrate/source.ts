import { oneLine } from "../../kernel/text.ts";
import type { MigrationEndpoint } from "../../migrate/index.ts";
import { createApiClient } from "../api/client.ts";
import { findOnlyAccount } from "../api/connect.ts";
import { apiUrl } from "../api/credentials.ts";
import { askHidden, canAsk } from "../ask.ts";
import type { CommandContext, Options } from "../command.ts";
import type { Progress } from "../progress.ts";
import { limitConcurrency } from "./limit-concurrency.ts";
import { importErrors } from "./errors.ts";

const HOSTED_URL = "https://api.cloudflare.com/client/v4";
/**
 * The hosted API counts requests in windows of five minutes and returns the remaining time of the window in
 * Retry-After.
 */
export const RETRY_LIMITS = { maxAttempts: 12, maxWaitSeconds: 600 } as const;

/** The server to copy from. */
export const sourceOptions = {
  from: {
    type: "string",
    placeholder: "url",
    summary: "API URL of the source",
    defaultText: HOSTED_URL,
  },
  "from-token": {
    type: "string",
    placeholder: "token",
    summary: "API token for the source",
    defaultText: "CLOUDFLARE_API_TOKEN, or a prompt",
  },
  "from-account": {
    type: "string",
    placeholder: "id",
    summary: "account on the source",
    defaultText: "CLOUDFLARE_ACCOUNT_ID, or the account of the token if there is only one",
  },
} as const satisfies Options;

interface SourceValues {
  from: string | undefined;
  "from-token": string | undefined;
  "from-account": string | undefined;
}

/** Connects to the source. Throws noSourceToken, connectionErrors. */
export async function connectSource(
  values: SourceValues,
  context: CommandContext,
  progress: Progress,
  concurrency: number,
): Promise<MigrationEndpoint> {
  const { env, version } = context;
  const url = values.from === undefined ? HOSTED_URL : apiUrl(values.from, "--from");
  const token =
    (values["from-token"] ?? env.CLOUDFLARE_API_TOKEN)?.trim() ||
    (canAsk(context) ? (await askHidden(`API token for ${oneLine(url)}: `, context)).trim() : "");
  if (token === "") throw importErrors.noSourceToken({ url });
  const api = createApiClient({
    url,
    token,
    version,
    ...RETRY_LIMITS,
    onWait: (seconds) => progress.step(`the source is limiting requests; retrying in ${Math.ceil(seconds)} s`),
  });
  const account = values["from-account"] ?? env.CLOUDFLARE_ACCOUNT_ID ?? (await findOnlyAccount(api, "--from-account"));
  return { api: limitConcurrency(api, concurrency), account };
}
