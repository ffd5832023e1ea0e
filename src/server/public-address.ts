import { isLoopback } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { serverErrors } from "./errors.ts";

/** Shorter tokens can be guessed. */
const MIN_TOKEN_LENGTH = 32;

/**
 * Checks the settings that are required before other machines can reach the server, so that no random key is stored
 * alongside the data it protects and no token is printed to a log. `initialized`: the data directory already has
 * accounts. Throws openToOthers.
 */
export function checkPublicAddress(
  hosts: string[],
  { secrets, api }: Pick<Settings, "secrets" | "api">,
  initialized: boolean,
): void {
  const host = hosts.find((one) => !isLoopback(one));
  if (host === undefined) return;
  if (secrets.key === "" && secrets.key_file === "") {
    throw serverErrors.openToOthers({
      host,
      missing: "no key for its secrets is configured",
      fix: "Set REELPOST_SECRETS_KEY (`openssl rand -base64 32` creates one) or secrets.key_file.",
    });
  }
  if (!initialized && api.token === "") {
    throw serverErrors.openToOthers({
      host,
      missing: "it has no API token yet",
      fix: "Set REELPOST_API_TOKEN for the first start (`openssl rand -hex 20` creates one).",
    });
  }
  if (!initialized && api.token.length < MIN_TOKEN_LENGTH) {
    throw serverErrors.openToOthers({
      host,
      missing: `api.token has fewer than ${MIN_TOKEN_LENGTH} characters`,
      fix: "Set a longer REELPOST_API_TOKEN.",
    });
  }
}
