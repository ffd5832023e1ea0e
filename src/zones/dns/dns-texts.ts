import type { DnsTxtRecords } from "../../certificates/index.ts";
import type { Clock } from "../../kernel/index.ts";
import type { Zones } from "../create.ts";
import { dnsErrors } from "./provider/errors.ts";
import type { DnsChange, DnsProvider } from "./provider/port.ts";

interface DnsTextsDeps {
  zones: Pick<Zones, "byName">;
  /** Stores the records of the zones. */
  provider: DnsProvider;
  clock: Clock;
  /** True if no other process serves our tables. */
  isSingleProcess: boolean;
}

const TTL_SECONDS = 60;
/** Delay until other processes, and the secondaries of an external server, have received the change. */
const SETTLE_MS = { embedded: 1000, external: 5000 };

/** TXT records for DNS-01, in the zones of accounts. */
export function createDnsTxtRecords({ zones, provider, clock, isSingleProcess }: DnsTextsDeps): DnsTxtRecords {
  const settleMs = provider.kind !== "embedded" ? SETTLE_MS.external : isSingleProcess ? 0 : SETTLE_MS.embedded;

  async function apply(name: string, change: Pick<DnsChange, "add" | "remove">, signal?: AbortSignal) {
    const zone = await zones.byName(name, { enclosing: true });
    if (zone === undefined) throw dnsErrors.noZoneForCertificate({ name });
    await provider.apply(zone, { owner: "certificates", locked: true, mustBeAbsent: [], ...change }, signal);
  }
  const record = (name: string, text: string) => ({ type: "TXT", name, content: `"${text}"`, ttl: TTL_SECONDS });

  return {
    async set(name, text, signal) {
      await apply(name, { add: [record(name, text)], remove: [] }, signal);
      if (settleMs > 0) await clock.sleep(settleMs, signal);
    },
    remove: (name, text) => apply(name, { add: [], remove: [record(name, text)] }),
  };
}
