import { connectionErrors } from "./errors.ts";
import type { Login } from "./login-file.ts";

export const DEFAULT_URL = "http://127.0.0.1:8787/client/v4";

/** In order of precedence. */
const PREFIXES = ["", "REELPOST_", "CLOUDFLARE_"];

export interface Given {
  url?: string | undefined;
  token?: string | undefined;
  account?: string | undefined;
}

interface Credentials {
  url: string;
  token: string | undefined;
  account: string | undefined;
}

/**
 * The command line overrides the environment, which overrides the login, which overrides the configuration file's
 * account.
 */
export function findCredentials(
  given: Given,
  env: Record<string, string | undefined>,
  login: Login | undefined,
  configuredAccount?: string,
): Credentials {
  // A CI job without access to the secret has the variable set to an empty string.
  const findInEnv = (name: string) =>
    PREFIXES.map((prefix) => ({ source: `${prefix}${name}`, value: env[`${prefix}${name}`]?.trim() })).find(
      ({ value }) => value,
    );
  const urlFromEnv = findInEnv("API_BASE_URL");
  const url =
    given.url !== undefined
      ? apiUrl(given.url, "--url")
      : urlFromEnv !== undefined
        ? apiUrl(urlFromEnv.value!, urlFromEnv.source)
        : (login?.url ?? DEFAULT_URL);
  // A token must be sent only to the server that issued it.
  const matchingLogin = login?.url === url ? login : undefined;
  return {
    url,
    token: given.token ?? findInEnv("API_TOKEN")?.value ?? matchingLogin?.token,
    account: given.account ?? findInEnv("ACCOUNT_ID")?.value ?? matchingLogin?.account ?? configuredAccount,
  };
}

/** Completes a server URL, as typed by a user, with the API path. */
export function apiUrl(text: string, source: string): string {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.hostname === "" ||
    url.search !== "" ||
    url.hash !== "" ||
    url.username !== ""
  )
    throw connectionErrors.badUrl({ url: text, source });
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${path === "" ? "/client/v4" : path}`;
}
