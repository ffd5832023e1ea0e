import { secretsStoreErrors } from "./errors.ts";
import { SECRET_SCOPES, secretsStoreLimits } from "./limits.ts";
import type { NewSecret, SecretChange, SecretScope } from "./port.ts";

const { nameChars, valueBytes, commentChars } = secretsStoreLimits;

export function checkName(name: string): void {
  if (!/^[A-Za-z0-9_-]+$/.test(name) || name.length > nameChars)
    throw secretsStoreErrors.badName({ name: JSON.stringify(name.slice(0, 100)), limit: nameChars });
}

const isScope = (scope: string): scope is SecretScope => (SECRET_SCOPES as readonly string[]).includes(scope);

/** Throws badValue, badScopes, commentTooLong. Messages contain the name of the secret, but never its value. */
export function checkSecretContent(name: string, { value, scopes, comment }: SecretChange): void {
  const size = value === undefined ? undefined : Buffer.byteLength(value);
  if (size === 0 || (size ?? 0) > valueBytes) throw secretsStoreErrors.badValue({ name, size, limit: valueBytes });
  if (scopes !== undefined && (scopes.length === 0 || !scopes.every(isScope) || new Set(scopes).size < scopes.length))
    throw secretsStoreErrors.badScopes({
      name,
      scopes: JSON.stringify(scopes).slice(0, 200),
      allowed: SECRET_SCOPES.join(", "),
    });
  if (comment !== undefined && comment.length > commentChars)
    throw secretsStoreErrors.commentTooLong({ name, size: comment.length, limit: commentChars });
}

/** Throws badName, secretNameTaken if a name occurs twice, and the errors of checkSecretContent(). */
export function checkNewSecrets(secrets: readonly NewSecret[]): void {
  for (const [i, { name, ...content }] of secrets.entries()) {
    checkName(name);
    checkSecretContent(name, content);
    if (secrets.findIndex((other) => other.name === name) < i) throw secretsStoreErrors.secretNameTaken({ name });
  }
}
