import { join } from "node:path";
import { storeErrors } from "../errors.ts";
import { createSecrets } from "./aes-gcm.ts";
import { loadKeyFile, parseKeys } from "./keys.ts";
import type { Secrets } from "./port.ts";

interface SecretsKey {
  /** The keys themselves, as in REELPOST_SECRETS_KEY; "" if unset. */
  key: string;
  /** Path of a key file; "" if unset. */
  key_file: string;
}

/**
 * Opens the secrets with the configured key, or with `secrets.key` in the data directory, which is created if it is
 * missing. Throws StoreError secretsKeyTwice, and the errors of parseKeys and loadKeyFile.
 */
export function openSecrets(dataDirectory: string, { key, key_file }: SecretsKey = { key: "", key_file: "" }): Secrets {
  if (key !== "" && key_file !== "") throw storeErrors.secretsKeyTwice();
  return createSecrets({
    keys:
      key !== ""
        ? parseKeys(key, "REELPOST_SECRETS_KEY")
        : loadKeyFile(key_file === "" ? join(dataDirectory, "secrets.key") : key_file),
  });
}
