import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { storeErrors } from "../errors.ts";
import type { Secrets } from "./port.ts";

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM. An encrypted value is `v1.<key id>.<nonce, ciphertext and tag in base64url>`. Encrypts with the first
 * key and opens with the key identified in the value: prepend a new key to rotate.
 */
export function createSecrets({ keys }: { keys: readonly Uint8Array[] }): Secrets {
  const byId = new Map(keys.map((key) => [idOf(key), key]));
  const [currentKey] = keys;
  if (!currentKey) throw new TypeError("at least one key is needed");
  const currentId = idOf(currentKey);

  return {
    seal(plain, context) {
      // Random nonces are safe for 2^32 values per key (NIST SP 800-38D, 8.3).
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", currentKey, nonce).setAAD(boundData(currentId, context));
      const sealed = Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `v1.${currentId}.${sealed.toString("base64url")}`;
    },
    open(sealed, context) {
      const fail = (reason: string, cause?: unknown) => storeErrors.cannotOpenSecret({ context, reason }, { cause });
      const [version, id, encoded, ...rest] = sealed.split(".");
      const bytes = Buffer.from(encoded ?? "", "base64url");
      const isWellFormed =
        version === "v1" &&
        rest.length === 0 &&
        bytes.length >= NONCE_BYTES + TAG_BYTES &&
        bytes.toString("base64url") === encoded;
      if (!isWellFormed || !id) throw fail("it is not an encrypted value, or it was truncated");
      const key = byId.get(id);
      if (!key) throw fail(`it was encrypted with the key ${id}, which is not configured`);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(boundData(id, context)).setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString(
          "utf8",
        );
      } catch (err) {
        throw fail("it was modified, or encrypted for another context", err);
      }
    },
    derive: (purpose) =>
      keys.map((key) =>
        Buffer.from(hkdfSync("sha256", key, "", `reelpost ${purpose}`, KEY_BYTES)).toString("base64url"),
      ) as [string, ...string[]],
  };
}

/** Identifies a key without revealing it. */
const idOf = (key: Uint8Array) =>
  createHash("sha256").update("reelpost key id\0").update(key).digest("base64url").slice(0, 10);

const boundData = (id: string, context: string) => Buffer.from(`v1.${id}.${context}`);
