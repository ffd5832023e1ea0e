import { defineErrors, UserError } from "../../kernel/index.ts";
import { oneLine } from "../../kernel/text.ts";

/** Errors of the connection between the CLI and a server. */
export const connectionErrors = defineErrors("connection", {
  unreachable: {
    code: "E_UNREACHABLE",
    http: 503,
    message: "Cannot reach {url}: {reason}.",
    fix: "Check that `reelpost serve` is running at {origin}, or select another server with --url, API_BASE_URL or `reelpost login`.",
  },
  timedOut: {
    code: "E_TIMEOUT",
    http: 504,
    message: "{what} timed out after {seconds} seconds.",
    fix: "Check the server's log, then retry.",
  },
  broken: {
    code: "E_BROKEN_ANSWER",
    http: 502,
    message: "The response to {what} was interrupted: {reason}.",
    fix: "Retry.",
  },
  notTheApi: {
    code: "E_NOT_THE_API",
    http: 502,
    message: "{what} returned status {status}, but the response is not from the API: {text}",
    fix: "Check --url, API_BASE_URL or the login: the URL of a server ends in /client/v4.",
  },
  badUrl: {
    code: "E_BAD_URL",
    http: 400,
    message: 'Invalid server URL "{url}" ({source}).',
    fix: "Use a URL such as http://127.0.0.1:8787/client/v4",
  },
  unnameable: {
    code: "E_UNNAMEABLE",
    http: 400,
    message: '"{name}" is not a valid name: it cannot appear in a URL.',
    fix: "Use another name.",
  },
  notLoggedIn: {
    code: "E_NOT_LOGGED_IN",
    http: 401,
    message: "No API token for {url}.",
    fix: "Run `reelpost login`, or set API_TOKEN.",
  },
  noAccount: {
    code: "E_NO_ACCOUNT",
    http: 403,
    message: "The API token has no access to any account on {url}.",
    fix: "Create a token with permissions on an account: `reelpost token create`.",
  },
  severalAccounts: {
    code: "E_SEVERAL_ACCOUNTS",
    http: 400,
    message: "The API token has access to several accounts:\n{list}",
    fix: "Select one with {option}, ACCOUNT_ID or account_id in the configuration.",
  },
});

export interface ErrorItem {
  code: number;
  message: string;
  error_chain?: ErrorItem[];
}

/** Fixes for errors whose text is the same on any server, in terms of CLI commands. */
const FIXES: Record<number, string> = {
  1000: "Run `reelpost login`, or set API_TOKEN to a valid token: the current one is unknown, revoked or expired.",
  6003: "Run `reelpost login` again, or correct API_TOKEN: the value is not a well-formed token.",
  10000: "Run `reelpost login`, or set API_TOKEN to a valid token: the current one is unknown, revoked or expired.",
  10007: "Deploy it first: `reelpost deploy`. The name comes from the configuration, or from --name.",
  10041: "List the ids with `reelpost kv namespace list`, or create one with `reelpost kv namespace create <title>`.",
  10085: "List the names with `reelpost r2 bucket list`, or create one with `reelpost r2 bucket create <name>`.",
  10181: "List the ids with `reelpost d1 list`, or create one with `reelpost d1 create <name>`.",
  7003: "Check the account: `reelpost whoami` lists those that the token can access. Select one with --account, ACCOUNT_ID, `reelpost login` or account_id in the configuration.",
  7000: "The server does not support this request; it may be older than this CLI.",
};

/** Combines the errors of an envelope into one, with the code of the first and all texts. */
export function refusal(errors: readonly ErrorItem[], http: number): UserError {
  const first = errors[0] ?? { code: 0, message: `The server responded with status ${http} and no error message.` };
  // Reelpost ends the chain with the fix, under the code of the error itself.
  const last = first.error_chain?.at(-1);
  const advice = last !== undefined && last.code === first.code ? last : undefined;
  const fix = FIXES[first.code] ?? (advice === undefined ? undefined : oneLine(advice.message, 2000));
  const chain = (first.error_chain ?? []).filter((item) => item !== advice);
  const lines = [first, ...errors.slice(1, 20)].map((item) => `${textOf(item.message)} [code: ${item.code}]`);
  const details = chain
    .slice(0, 20)
    .filter(({ message }) => !first.message.includes(message))
    .map(({ message }) => `  ${textOf(message)}`);
  return new UserError(
    "server",
    "refused",
    { code: first.code, http, message: "{text}", ...(fix !== undefined && { fix: "{advice}" }) },
    { text: [...lines, ...details].join("\n"), advice: fix, message: first.message, errors },
  );
}

const textOf = (message: unknown) =>
  String(message)
    .split("\n")
    .map((line) => oneLine(line, 4000))
    .join("\n");
