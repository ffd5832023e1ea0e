import { createHash } from "node:crypto";

/** A challenge response for an ACME server. */
export interface ChallengeResponse {
  /** The host name, without `*.`. */
  name: string;
  token: string;
  keyAuthorization: string;
}

/** Proves control of names to an ACME server. */
export interface Solver {
  type: "http-01" | "dns-01";
  /** Resolves when the server may validate. */
  present(proof: ChallengeResponse, signal: AbortSignal): Promise<void>;
  /** Also safe to call for a challenge that was never shown. */
  cleanUp(proof: ChallengeResponse): Promise<void>;
}

/** TXT records in the zones on this server. A name may have several: one for a domain and one for its wildcard. */
export interface DnsTxtRecords {
  /** Resolves when every known server of the zone serves the record. Throws if the zone does not exist. */
  set(name: string, text: string, signal: AbortSignal): Promise<void>;
  remove(name: string, text: string): Promise<void>;
}

/** RFC 8555 8.4 */
export function createDnsSolver(texts: DnsTxtRecords): Solver {
  const recordOf = ({ name, keyAuthorization }: ChallengeResponse) =>
    [`_acme-challenge.${name}`, createHash("sha256").update(keyAuthorization).digest("base64url")] as const;
  return {
    type: "dns-01",
    present: (proof, signal) => texts.set(...recordOf(proof), signal),
    cleanUp: (proof) => texts.remove(...recordOf(proof)),
  };
}
