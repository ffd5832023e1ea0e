import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { KEY_BYTES } from "./aes-gcm.ts";

/**
 * Parses keys from text (an environment variable, a key file): base64 of 32 bytes each, separated by white space or
 * commas, newest first.
 */
export function parseKeys(text: string, from: string): Uint8Array[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const keys = words.map((word) => Buffer.from(word, "base64"));
  if (keys.length === 0) throw storeErrors.badKeyFile({ path: from, reason: "it contains no key" });
  for (const [index, key] of keys.entries()) {
    // Buffer.from skips invalid characters: a key that does not round-trip contains a typing error.
    const isCanonical =
      key.toString("base64url") === words[index]!.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (key.length !== KEY_BYTES || !isCanonical)
      throw storeErrors.badKeyFile({ path: from, reason: `key ${index + 1} is not base64 of ${KEY_BYTES} bytes` });
  }
  return keys;
}

/** Loads the keys from a file; it is created on first use with one random key and owner-only permissions. */
export function loadKeyFile(path: string): Uint8Array[] {
  return read(path) ?? create(path) ?? read(path)!;
}

function read(path: string): Uint8Array[] | undefined {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw storeErrors.badKeyFile({ path, reason: messageOf(err) }, { cause: err });
  }
  try {
    const { mode } = fstatSync(fd);
    // Windows has no permission bits.
    if (process.platform !== "win32" && mode & 0o077) {
      throw storeErrors.badKeyFile({
        path,
        reason: `other users can read it (its mode is ${(mode & 0o777).toString(8)})`,
      });
    }
    return parseKeys(readFileSync(fd, "utf8"), path);
  } finally {
    closeSync(fd);
  }
}

/**
 * link(2) fails where rename(2) would replace: of two concurrent first starts, one creates the key, and both use it.
 * Returns undefined for the other.
 */
function create(path: string): Uint8Array[] | undefined {
  const key = randomBytes(KEY_BYTES);
  const temp = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const fd = openSync(temp, "wx", 0o600);
    try {
      writeSync(fd, `${key.toString("base64")}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(temp, path);
    syncFolder(dirname(path));
    return [key];
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw storeErrors.notWritable({ what: path, reason: messageOf(err) }, { cause: err });
  } finally {
    try {
      unlinkSync(temp);
    } catch {
      // The file was never created.
    }
  }
}

// If a power failure lost the key, everything encrypted with it would be lost, too.
function syncFolder(path: string) {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
