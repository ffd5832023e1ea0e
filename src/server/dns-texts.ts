import type { DnsTexts } from "../certificates/index.ts";
import type { Clock } from "../kernel/index.ts";
import type { DnsChange, DnsProvider, Zone, Zones } from "../zones/index.ts";
import { serverErrors } from "./errors.ts";

interface DnsTextsParts {
  zones: Pick<Zones, "byName">;
  /** The provider that stores a zone's records. */
  providerOf(zone: Zone): DnsProvider;
  clock: Clock;
  /** True if no other process serves our tables. */
  alone: boolean;
}

const TTL_SECONDS = 60;
/** Delay until other processes, and the secondaries of an external server, have received the change. */
const SETTLE_MS = { embedded: 1000, elsewhere: 5000 };

/** TXT records for DNS-01, in the zones of accounts. */
export function createDnsTexts({ zones, providerOf, clock, alone }: DnsTextsParts): DnsTexts {
  async function apply(name: string, change: Pick<DnsChange, "add" | "remove">, signal?: AbortSignal) {
    const zone = await zones.byName(name, { enclosing: true });
    if (zone === undefined) throw serverErrors.noZoneForCertificate({ name });
    const provider = providerOf(zone);
    await provider.apply(zone, { owner: "certificates", locked: true, mustBeAbsent: [], ...change }, signal);
    return provider.kind;
  }
  const record = (name: string, text: string) => ({ type: "TXT", name, content: `"${text}"`, ttl: TTL_SECONDS });

  return {
    async set(name, text, signal) {
      const kind = await apply(name, { add: [record(name, text)], remove: [] }, signal);
      const settle = kind !== "embedded" ? SETTLE_MS.elsewhere : alone ? 0 : SETTLE_MS.embedded;
      if (settle > 0) await clock.sleep(settle, signal);
    },
    remove: async (name, text) => void (await apply(name, { add: [], remove: [record(name, text)] })),
  };
}
