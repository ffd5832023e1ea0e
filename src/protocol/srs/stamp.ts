import { createHmac, timingSafeEqual } from "node:crypto";

/** Day and signature in an SRS address, both still readable after a change of case. */

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DAY_MS = 86_400_000;
/** Range of two base32 characters. */
const CYCLE_DAYS = 1024;

/** Encodes the day of `now` (epoch milliseconds) as two base32 characters; repeats every 1024 days. */
export function dayStamp(now: number): string {
  const day = Math.floor(now / DAY_MS) % CYCLE_DAYS;
  return `${BASE32[day >> 5]}${BASE32[day & 31]}`;
}

/** Returns the age of a stamp in days; -1 means tomorrow. Undefined for an invalid stamp. */
export function stampAge(stamp: string, now: number): number | undefined {
  const [high, low] = [...stamp.toUpperCase()].map((letter) => BASE32.indexOf(letter));
  if (stamp.length !== 2 || high === undefined || low === undefined || high < 0 || low < 0) return undefined;
  const age = ((Math.floor(now / DAY_MS) % CYCLE_DAYS) - (high * 32 + low) + CYCLE_DAYS) % CYCLE_DAYS;
  return age === CYCLE_DAYS - 1 ? -1 : age;
}

/** Returns the HMAC-SHA256 over the parts in lower case, as `length` base32 characters (5 bits each). */
export function sign(key: string, parts: string[], length: number): string {
  const digest = createHmac("sha256", key).update(parts.join("\0").toLowerCase()).digest();
  let text = "";
  for (const byte of digest.subarray(0, length)) text += BASE32[byte & 31];
  return text;
}

export function isValidSignature(keys: readonly string[], parts: string[], signature: string, length: number): boolean {
  const givenBytes = Buffer.from(signature.toUpperCase());
  return keys.some((key) => {
    const expectedBytes = Buffer.from(sign(key, parts, length));
    return expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes);
  });
}
