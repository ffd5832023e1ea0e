import { sign, verify, type KeyObject } from "node:crypto";
import { parseRules, type AccessRule } from "./rules.ts";

/**
 * Playback tokens are JSON Web Tokens (RFC 7519) in the compact form of RFC 7515 7.1, signed with RS256 only: "none"
 * and HS256 with a public key as the secret are the usual forgeries. A token replaces a video's id in a URL, so a token
 * without a video (`sub`) is rejected. Times are in seconds since the epoch; some signers write them as decimal
 * strings.
 */
export interface PlaybackToken {
  claims: PlaybackClaims;
  rules: AccessRule[];
  /** The text that was signed, and its signature. */
  signingInput: string;
  signature: Buffer;
}

export interface PlaybackClaims {
  /** Id of the signing key, from the header, otherwise from the claims. */
  kid: string;
  /** Uid of the video or live input. */
  sub: string;
  exp: number;
  nbf?: number;
  iat?: number;
  /** True if the token is also valid for downloads. */
  downloadable: boolean;
  /** True if the token is also valid for the original file. */
  original: boolean;
}

/** `why` is intended for the token's issuer; it only quotes field names. */
type TokenReading = { ok: true; token: PlaybackToken } | { ok: false; why: string };

/** A token is part of a URL, whose length servers and proxies limit to about this value. */
const MAX_LENGTH = 8192;
const COMPACT_PATTERN = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** Returns true if the text could be intended as a token. */
export const looksLikeToken = (text: string): boolean => text.includes(".");

/** Checks everything in a token that requires neither the key nor the time. */
export function readToken(text: string): TokenReading {
  if (text.length > MAX_LENGTH) return invalidResult(`it has more than ${MAX_LENGTH} characters`);
  const [, head, body, signature] = COMPACT_PATTERN.exec(text) ?? [];
  if (head === undefined || body === undefined || signature === undefined)
    return invalidResult("it is not three base64url parts separated by dots");
  const header = readObject(head);
  const claims = readObject(body);
  if (header === undefined || claims === undefined) return invalidResult("its header or claims are not a JSON object");
  if (header["alg"] !== "RS256") return invalidResult("its algorithm is not RS256");
  // RFC 7515 4.1.11: critical extensions, none of which are supported.
  if ("crit" in header) return invalidResult("its header requires extensions (crit)");
  const kid = keyOf(header["kid"], claims["kid"]);
  if (!kid.ok) return kid;
  const rules = parseRules(claims["accessRules"]);
  if (!rules.ok) return invalidResult(rules.why);
  const claimsReading = readClaims(claims, kid.kid);
  return claimsReading.ok
    ? {
        ok: true,
        token: {
          claims: claimsReading.claims,
          rules: rules.rules,
          signingInput: `${head}.${body}`,
          signature: Buffer.from(signature, "base64url"),
        },
      }
    : claimsReading;
}

function keyOf(header: unknown, claim: unknown): { ok: true; kid: string } | { ok: false; why: string } {
  const kid = header ?? claim;
  if (typeof kid !== "string" || kid === "" || kid.length > 64) return invalidResult("it has no key ID (kid)");
  return claim !== undefined && claim !== null && claim !== kid
    ? invalidResult("its header and claims have different key IDs (kid)")
    : { ok: true, kid };
}

function readClaims(
  claims: Record<string, unknown>,
  kid: string,
): { ok: true; claims: PlaybackClaims } | { ok: false; why: string } {
  const { sub, exp, nbf, iat } = claims;
  if (typeof sub !== "string" || sub === "") return invalidResult("it has no video ID (sub)");
  const times: Pick<PlaybackClaims, "exp" | "nbf" | "iat"> = { exp: 0 };
  for (const [name, value] of [
    ["exp", exp],
    ["nbf", nbf],
    ["iat", iat],
  ] as const) {
    if (value === undefined || value === null) {
      if (name === "exp") return invalidResult("it has no expiry time (exp)");
      continue;
    }
    const seconds = numericDate(value);
    if (seconds === undefined) return invalidResult(`${name} is not a number of seconds`);
    times[name] = seconds;
  }
  const flags = claims["flags"];
  const isOriginal = typeof flags === "object" && flags !== null && "original" in flags && isTrue(flags.original);
  return {
    ok: true,
    claims: { kid, sub, ...times, downloadable: isTrue(claims["downloadable"]), original: isOriginal },
  };
}

const isTrue = (value: unknown): boolean => value === true || value === "true";

/** Reads a NumericDate (RFC 7519 2), which may also be a string. */
export function numericDate(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function readObject(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(part, "base64url")));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Verifies the signature. `key` must be RSA. */
export const isSignedBy = ({ signingInput, signature }: PlaybackToken, key: KeyObject): boolean =>
  key.asymmetricKeyType === "rsa" && verify("sha256", Buffer.from(signingInput), key, signature);

interface TimeRules {
  /** Tolerated clock skew in seconds. */
  skew: number;
  /** Maximum lifetime in seconds, from `iat` if present, otherwise from now; 0 means unlimited. */
  maxLife: number;
}

/** Returns the reason why a token is not valid at this time. */
export function timeValidityError(
  { exp, nbf, iat }: Pick<PlaybackClaims, "exp" | "nbf" | "iat">,
  now: number,
  { skew, maxLife }: TimeRules,
): string | undefined {
  if (now >= exp + skew) return "it has expired (exp)";
  if (nbf !== undefined && now < nbf - skew) return "it is not valid yet (nbf)";
  if (maxLife === 0) return undefined;
  const from = Math.min(iat ?? now, now);
  return exp > from + maxLife + skew
    ? `exp is more than ${maxLife / 3600} hours in the future (the unit is seconds)`
    : undefined;
}

export interface NewToken {
  kid: string;
  sub: string;
  exp: number;
  nbf: number;
  downloadable?: boolean;
  original?: boolean;
  rules?: readonly AccessRule[];
}

/** Signs a token. Writes numbers as numbers, and omits default values. */
export function signToken(
  { kid, sub, exp, nbf, downloadable = false, original: isOriginal = false, rules = [] }: NewToken,
  key: KeyObject,
): string {
  const claims = {
    sub,
    kid,
    exp,
    nbf,
    ...(downloadable && { downloadable }),
    ...(rules.length > 0 && { accessRules: rules }),
    ...(isOriginal && { flags: { original: isOriginal } }),
  };
  const signed = `${encode({ alg: "RS256", kid })}.${encode(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const invalidResult = (why: string): { ok: false; why: string } => ({ ok: false, why });
