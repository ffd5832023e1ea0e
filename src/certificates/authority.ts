import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { certificate } from "./x509/certificate.ts";
import { pem } from "./x509/der.ts";

interface PemPair {
  cert: string;
  /** PKCS #8. */
  key: string;
}

/** Epoch milliseconds. */
interface Validity {
  notBefore: number;
  notAfter: number;
}

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const pairOf = (der: Buffer, key: KeyObject): PemPair => ({
  cert: pem("CERTIFICATE", der),
  key: key.export({ type: "pkcs8", format: "pem" }) as string,
});

/** Creates a private certificate authority; `name` is its subject. */
export function createAuthority(name: string, validity: Validity): PemPair {
  const key = newKey();
  return pairOf(certificate({ names: [name], key, authority: true, ...validity }), key);
}

/** Issues a certificate with a new key, for a host that is both TLS server and TLS client. */
export function issueCertificate(
  authority: { name: string; key: string },
  { host, ...validity }: Validity & { host: string },
): PemPair {
  const key = newKey();
  const issuer = { names: [authority.name], key: createPrivateKey(authority.key) };
  return pairOf(certificate({ names: [host], key, forClients: true, ...validity }, issuer), key);
}
