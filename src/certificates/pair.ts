import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { TlsPem } from "../kernel/tls-source.ts";

/** A certificate that can be served. */
export interface Pair extends TlsPem {
  context: SecureContext;
  /** Host names it is for, in lower case; some may begin with `*.`. */
  names: readonly string[];
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
}

/** Throws what is wrong with them, in OpenSSL's words. */
export function readPair({ cert, key }: TlsPem): Pair {
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
  // Node writes anything unusual as a JSON string: such a name is none that a client asks for.
  return subjectAltName
    .split(", ")
    .filter((name) => name.startsWith("DNS:") && !name.includes('"'))
    .map((name) => name.slice(4).toLowerCase());
}
