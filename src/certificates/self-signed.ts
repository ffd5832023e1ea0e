import { generateKeyPairSync } from "node:crypto";
import type { Clock } from "../kernel/index.ts";
import { parseKeyPair, type CertificateKeyPair } from "./pair.ts";
import { certificate } from "./x509/certificate.ts";
import { pem } from "./x509/der.ts";

interface SelfSignedRequest {
  /** Host names; the first is the subject. At least one. */
  names: readonly string[];
  days?: number;
  clock: Pick<Clock, "now">;
}

const DAY_MS = 86_400_000;

/**
 * Returns a self-signed certificate: sufficient for testing and for encrypting mail, where clients rarely verify names.
 */
export function makeSelfSigned({ names, days = 3650, clock }: SelfSignedRequest): CertificateKeyPair {
  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  // The clocks of other machines may be slow.
  const der = certificate({ names, key, notBefore: clock.now() - DAY_MS, notAfter: clock.now() + days * DAY_MS });
  return parseKeyPair({ cert: pem("CERTIFICATE", der), key: key.export({ type: "pkcs8", format: "pem" }) as string });
}
