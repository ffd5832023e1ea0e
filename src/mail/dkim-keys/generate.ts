import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import type { DkimAlgorithm, DkimKey, DkimRecord } from "./types.ts";

const generate = promisify(generateKeyPair);
/**
 * RFC 8301 3.2 requires at least 1024 bits and recommends 2048; longer keys exceed the maximum DNS reply size of many
 * servers.
 */
const RSA_BITS = 2048;
/** The header in front of the 32 octets of an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410 4). */
const ED25519_HEADER_BYTES = 12;

interface KeyPair {
  publicKey: string;
  privateKey: string;
}

export async function generateKeys(algorithm: DkimAlgorithm): Promise<KeyPair> {
  const { publicKey, privateKey } =
    algorithm === "rsa" ? await generate("rsa", { modulusLength: RSA_BITS }) : await generate("ed25519");
  const info = publicKey.export({ type: "spki", format: "der" });
  return {
    publicKey: (algorithm === "rsa" ? info : info.subarray(ED25519_HEADER_BYTES)).toString("base64"),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** RFC 6376 3.6.1, RFC 8463 4. */
export const dkimRecordOf = ({
  selector,
  algorithm,
  publicKey,
}: Pick<DkimKey, "selector" | "algorithm" | "publicKey">): DkimRecord => ({
  selector,
  text: `v=DKIM1; h=sha256; k=${algorithm}; p=${publicKey}`,
});

/** `reelpost`, `reelpost-2`, …; Ed25519 keys have separate selectors, since a selector holds one key. */
export const selectorOf = (base: string, turn: number, algorithm: DkimAlgorithm): string =>
  `${base}${turn === 1 ? "" : `-${turn}`}${algorithm === "rsa" ? "" : "-ed25519"}`;
