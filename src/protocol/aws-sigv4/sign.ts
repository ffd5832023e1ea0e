import { createHmac, timingSafeEqual } from "node:crypto";
import { sha256Hex } from "./canonical-request.ts";

/** The credential scope of a signature. */
export interface CredentialScope {
  /** `YYYYMMDD` */
  day: string;
  region: string;
  service: string;
}

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

export const scopeText = ({ day, region, service }: CredentialScope): string =>
  `${day}/${region}/${service}/aws4_request`;

export const signingKey = (secret: string, { day, region, service }: CredentialScope): Buffer =>
  hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), "aws4_request");

/** Returns the hexadecimal signature of a canonical request. `time`: `YYYYMMDDTHHMMSSZ`. */
export const signRequest = (key: Buffer, canonicalText: string, time: string, scope: CredentialScope): string =>
  signText(key, ["AWS4-HMAC-SHA256", time, scopeText(scope), sha256Hex(canonicalText)].join("\n"));

export const signText = (key: Buffer, text: string): string => hmac(key, text).toString("hex");

/** Compares two signatures in constant time. */
export function isSameSignature(signature: string, other: string): boolean {
  const [a, b] = [Buffer.from(signature), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
