import { createHash } from "node:crypto";

/** One thing to show an ACME server. */
export interface Proof {
  /** The host name, without `*.`. */
  name: string;
  token: string;
  keyAuthorization: string;
}

/** Shows an ACME server that names are ours. */
export interface Solver {
  type: "http-01" | "dns-01";
  /** Resolves when the server may look. */
  show(proof: Proof, signal: AbortSignal): Promise<void>;
  /** Also of what was never shown. */
  clear(proof: Proof): Promise<void>;
}

/** TXT records in the zones that are served here. A name may hold several texts: those of a domain and of its wildcard. */
export interface DnsTexts {
  /** Resolves when every server of the zone answers with it, as far as that can be told. Throws where there is no such zone. */
  set(name: string, text: string, signal: AbortSignal): Promise<void>;
  remove(name: string, text: string): Promise<void>;
}

/** RFC 8555 8.4 */
export function createDnsSolver(texts: DnsTexts): Solver {
  const recordOf = ({ name, keyAuthorization }: Proof) =>
    [`_acme-challenge.${name}`, createHash("sha256").update(keyAuthorization).digest("base64url")] as const;
  return {
    type: "dns-01",
    show: (proof, signal) => texts.set(...recordOf(proof), signal),
    clear: (proof) => texts.remove(...recordOf(proof)),
  };
}
