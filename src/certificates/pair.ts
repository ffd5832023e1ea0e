import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { TlsPem } from "../kernel/tls-source.ts";

/** A certificate and private key, ready to be served. */
export interface CertificateKeyPair extends TlsPem {
  context: SecureContext;
  /** Lower-case host names; some may begin with `*.`. */
  names: readonly string[];
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
}

/** Throws with OpenSSL's reason if the pair is invalid. */
export function parseKeyPair({ cert, key }: TlsPem): CertificateKeyPair {
  const leaf = new X509Certificate(cert);
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error("the key belongs to another certificate");
  return {
    cert,
    key,
    context: createSecureContext({ cert, key }),
    names: namesOf(leaf),
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
  };
}

function namesOf({ subjectAltName = "" }: X509Certificate): string[] {
  // Node encodes unusual names as JSON strings; clients never request such names.
  return subjectAltName
    .split(", ")
    .filter((name) => name.startsWith("DNS:") && !name.includes('"'))
    .map((name) => name.slice(4).toLowerCase());
}
