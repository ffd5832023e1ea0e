import { createHmac, timingSafeEqual } from "node:crypto";
import { sha256Hex } from "./canonical-request.ts";

/** The credential scope of a signature. */
export interface Scope {
  /** `YYYYMMDD` */
  day: string;
  region: string;
  service: string;
}

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

export const scopeText = ({ day, region, service }: Scope): string => `${day}/${region}/${service}/aws4_request`;

export const signingKey = (secret: string, { day, region, service }: Scope): Buffer =>
  hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), "aws4_request");

/** Returns the hexadecimal signature of a canonical request. `time`: `YYYYMMDDTHHMMSSZ`. */
export const signRequest = (key: Buffer, canonicalText: string, time: string, scope: Scope): string =>
  signText(key, ["AWS4-HMAC-SHA256", time, scopeText(scope), sha256Hex(canonicalText)].join("\n"));

export const signText = (key: Buffer, text: string): string => hmac(key, text).toString("hex");

/** Compares two signatures in constant time. */
export function isSameSignature(signature: string, other: string): boolean {
  const [a, b] = [Buffer.from(signature), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
