import type { DnsTexts } from "../certificates/index.ts";
import type { DnsChange, DnsProvider, Zone, Zones } from "../zones/index.ts";
import { serverErrors } from "./errors.ts";

export interface DnsTextsParts {
  zones: Pick<Zones, "byName">;
  /** Where the records of a zone are kept. */
  providerOf(zone: Zone): DnsProvider;
}

const TTL_SECONDS = 60;

/** The TXT records of DNS-01, in the zones of accounts. */
export function createDnsTexts({ zones, providerOf }: DnsTextsParts): DnsTexts {
  async function apply(name: string, change: Pick<DnsChange, "add" | "remove">, signal?: AbortSignal) {
    const zone = await zones.byName(name, { enclosing: true });
    if (zone === undefined) throw serverErrors.noZoneForCertificate({ name });
    await providerOf(zone).apply(zone, { owner: "certificates", locked: true, mustBeAbsent: [], ...change }, signal);
  }
  const record = (name: string, text: string) => ({ type: "TXT", name, content: `"${text}"`, ttl: TTL_SECONDS });

  return {
    set: (name, text, signal) => apply(name, { add: [record(name, text)], remove: [] }, signal),
    remove: (name, text) => apply(name, { add: [], remove: [record(name, text)] }),
  };
}
