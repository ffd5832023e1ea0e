import { kvErrors } from "./errors.ts";
import { kvLimits } from "./limits.ts";

/** Returns the key as bytes, or throws the error of the real service. */
export function keyBytes(key: string): Buffer {
  if (key === "") throw kvErrors.emptyKey();
  if (key === "." || key === "..") throw kvErrors.illegalKey({ key });
  return boundedBytes(key);
}

export function boundedBytes(key: string): Buffer {
  const bytes = Buffer.from(key);
  if (bytes.length > kvLimits.keyBytes) throw kvErrors.keyTooLong({ length: bytes.length, limit: kvLimits.keyBytes });
  return bytes;
}

/**
 * Converts `expiration` (epoch seconds) and `expiration_ttl` (seconds), as sent by the client, to epoch milliseconds;
 * the latter takes precedence. Returns null for never.
 */
export function expiryOf(
  { expiration, ttl }: { expiration?: string | null; ttl?: string | null },
  nowMs: number,
): number | null {
  const now = Math.floor(nowMs / 1000);
  const limit = kvLimits.minTtl;
  if (ttl != null) {
    const seconds = Number.parseInt(ttl, 10);
    if (!(seconds > 0)) throw kvErrors.badTtl({ value: ttl });
    if (seconds < limit) throw kvErrors.shortTtl({ value: ttl, limit });
    return (now + seconds) * 1000;
  }
  if (expiration == null) return null;
  const expirationSeconds = Number.parseInt(expiration, 10);
  if (!(expirationSeconds > now)) throw kvErrors.pastExpiration({ value: expiration });
  if (expirationSeconds < now + limit) throw kvErrors.soonExpiration({ value: expiration, limit });
  return expirationSeconds * 1000;
}

/** Validates metadata that is JSON text, and returns it unchanged. */
export function checkKeyMetadata(json: string): string {
  const length = Buffer.byteLength(json);
  if (length > kvLimits.metadataBytes) throw kvErrors.metadataTooLong({ length, limit: kvLimits.metadataBytes });
  try {
    JSON.parse(json);
  } catch {
    throw kvErrors.badMetadata();
  }
  return json;
}

export function checkCacheTtl(value: string | number | null | undefined): void {
  if (value != null && !(Number.parseInt(String(value), 10) >= kvLimits.minCacheTtl))
    throw kvErrors.shortCacheTtl({ value, limit: kvLimits.minCacheTtl });
}

export function checkLimit(value: string | number | null | undefined): number {
  if (value == null) return kvLimits.listKeys;
  const limit = Number.parseInt(String(value), 10);
  if (!(limit >= 1)) throw kvErrors.badLimit({ value });
  if (limit > kvLimits.listKeys) throw kvErrors.largeLimit({ value, limit: kvLimits.listKeys });
  return limit;
}
