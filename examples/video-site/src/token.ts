import type { Env } from "./env.ts";

const GOOD_FOR_SECONDS = 3600;

/**
 * A token that replaces the video id for an hour. Signed locally without an API call. Undefined without a signing key.
 */
export async function signToken(uid: string, { STREAM_KEY_ID, STREAM_JWK }: Env): Promise<string | undefined> {
  if (STREAM_KEY_ID === undefined || STREAM_JWK === undefined) return undefined;
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("jwk", JSON.parse(atob(STREAM_JWK)) as JsonWebKey, algorithm, false, [
    "sign",
  ]);
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: "RS256", kid: STREAM_KEY_ID };
  // One minute earlier, to allow for clock skew.
  const claims = { sub: uid, kid: STREAM_KEY_ID, nbf: now - 60, exp: now + GOOD_FOR_SECONDS };
  const signed = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(claims))}`;
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(signed));
  return `${signed}.${base64url(String.fromCharCode(...new Uint8Array(signature)))}`;
}

/** Accepts only characters below 256. */
const base64url = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
