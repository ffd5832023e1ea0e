import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

/** Encodings in which a signing key is exported and read. */

/** PKCS#1 in PEM, encoded again in base64 for environment variables. */
export const encodePem = (key: KeyObject): string =>
  Buffer.from(key.export({ type: "pkcs1", format: "pem" })).toString("base64");

/** Returns a JWK (RFC 7517), in base64. */
export function encodeJwk(id: string, key: KeyObject): string {
  const { n, e, d, p, q, dp, dq, qi } = key.export({ format: "jwk" });
  return Buffer.from(
    JSON.stringify({ use: "sig", kty: "RSA", kid: id, alg: "RS256", n, e, d, p, q, dp, dq, qi }),
  ).toString("base64");
}

/** Larger than any key in use. */
const MAX_PEM_LENGTH = 32_768;

/** Reads a private key in PEM, plain or in base64, as PKCS#1 or PKCS#8. Undefined if it is not a private RSA key. */
export function readPem(text: string): KeyObject | undefined {
  if (text.length > MAX_PEM_LENGTH) return undefined;
  const pem = text.includes("-----BEGIN") ? text : Buffer.from(text, "base64").toString("latin1");
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** True if both belong to one key pair. */
export const isPair = (privateKey: KeyObject, publicKey: KeyObject): boolean =>
  createPublicKey(privateKey).equals(publicKey);
