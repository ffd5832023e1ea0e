import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../kernel/index.ts";
import { createSecrets, isStoreError, parseKeys, storeErrors } from "../store/index.ts";

/** The keys that encrypt the secrets in the database, newest first. */
interface SecretsKey {
  /** As in secrets.key. */
  text: string;
  /** Path or setting of the key, for error messages. */
  source: string;
}

/** `secrets.key` and `secrets.key_file` of the settings; "" if unset. */
export interface SecretsSettings {
  key: string;
  key_file: string;
}

/**
 * Returns the configured key, or undefined if the data directory has none yet. Throws StoreError secretsKeyTwice,
 * badKeyFile.
 */
export function readSecretsKey(
  dataDirectory: string,
  { key, key_file: file }: SecretsSettings,
): SecretsKey | undefined {
  if (key !== "" && file !== "") throw storeErrors.secretsKeyTwice();
  if (key !== "") return { text: key, source: "secrets.key" };
  const path = file === "" ? join(dataDirectory, "secrets.key") : file;
  return file === "" && !existsSync(path) ? undefined : readKeyFile(path);
}

/** Throws StoreError badKeyFile. */
export function readKeyFile(path: string): SecretsKey {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (err) {
    throw storeErrors.badKeyFile({ path, reason: messageOf(err) }, { cause: err });
  }
  parseKeys(text, path);
  return { text, source: path };
}

/** True if the value was encrypted with one of the keys. Throws StoreError badKeyFile. */
export function canDecrypt({ text, source }: SecretsKey, value: string, context: string): boolean {
  try {
    createSecrets({ keys: parseKeys(text, source) }).open(value, context);
    return true;
  } catch (err) {
    if (isStoreError(err, "cannotOpenSecret")) return false;
    throw err;
  }
}

/**
 * Returns a secret for the names of encrypted contents, which would otherwise reveal whether a backup contains a known
 * file.
 */
export const nameKeyOf = (key: SecretsKey | undefined): string =>
  key === undefined ? "" : createSecrets({ keys: parseKeys(key.text, key.source) }).derive("backup contents")[0];
