import type { Clock } from "../../../kernel/index.ts";
import { ancestors } from "../../../protocol/dns/index.ts";
import type { ServedZone } from "../served.ts";
import { isAbsence, LookupError } from "./failure.ts";

interface DelegationsOptions {
  /** Resolves with the name servers that public DNS lists for a name. Throws LookupError. */
  nameServers(name: string): Promise<string[]>;
  /** True if any resolver has responded recently. */
  isReachable(): boolean;
  clock: Pick<Clock, "now">;
}

/**
 * Top-level domains that cannot be registered (RFC 2606, RFC 6761, RFC 8375, RFC 9476, and ICANN's resolution on
 * .internal).
 */
const PRIVATE = /(^|\.)(test|example|invalid|localhost|local|internal|alt|home\.arpa)$/;
/** Second-level names reserved by registries; see zones.ts. */
const REGISTRY = /^(ac|co|com|edu|gov|gob|go|ltd|mil|ne|net|nom|or|org|plc|sch)\.[a-z]{2}$/;
const [OWN_TTL_MS, FOREIGN_MS, UNKNOWN_TTL_MS] = [600_000, 60_000, 15_000];
const MAX_CACHED_ZONES = 5000;

/**
 * Decides whether lookups are answered from our own tables. Any account can create a zone with any name, and trusting
 * the zone would let the account forge or intercept mail of the name's real owner. So a zone is used only if public DNS
 * delegates it to our name servers, if neither it nor a parent domain is registered, or if no resolver is reachable.
 */
export function createDelegations({
  nameServers,
  isReachable,
  clock,
}: DelegationsOptions): (zone: ServedZone) => Promise<boolean> {
  const cachedZones = new Map<string, { until: number; ours: Promise<boolean> }>();

  async function isOurs({ name, nameServers: ownNameServers }: ServedZone): Promise<boolean> {
    for (const domain of [name, ...ancestors(name)]) {
      if (domain !== name && (!domain.includes(".") || REGISTRY.test(domain))) break;
      try {
        const hosts = await nameServers(domain);
        return hosts.some((host) => ownNameServers.includes(host));
      } catch (err) {
        if (!isAbsence(err)) throw err;
      }
    }
    return true;
  }

  function cacheResult(name: string, ours: Promise<boolean>, ms: number) {
    cachedZones.delete(name);
    if (cachedZones.size >= MAX_CACHED_ZONES) cachedZones.delete(cachedZones.keys().next().value!);
    cachedZones.set(name, { until: clock.now() + ms, ours });
  }

  return async (zone) => {
    if (PRIVATE.test(zone.name)) return true;
    const previousEntry = cachedZones.get(zone.name);
    if (previousEntry !== undefined && previousEntry.until > clock.now()) return previousEntry.ours;
    const result = isOurs(zone).then(
      (ours) => {
        cacheResult(zone.name, result, ours ? OWN_TTL_MS : FOREIGN_MS);
        return ours;
      },
      async (err: unknown) => {
        cacheResult(zone.name, result, UNKNOWN_TTL_MS);
        if (previousEntry !== undefined) return previousEntry.ours;
        if (isReachable())
          throw new LookupError(
            "ESERVFAIL",
            `cannot determine at present whether ${zone.name} is delegated to this server`,
            { cause: err },
          );
        return true;
      },
    );
    cacheResult(zone.name, result, UNKNOWN_TTL_MS);
    result.catch(() => {});
    return result;
  };
}
