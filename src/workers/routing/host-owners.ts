import type { Clock } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { RoutingZones } from "./port.ts";

/** Long enough to spare the queries of a busy host, short enough that a new zone applies soon. */
const FRESH_MS = 5000;
const MAX_HOSTS = 10_000;

/** The accounts that own host names. */
export interface HostOwners {
  /**
   * Resolves with the account of the closest zone that contains the host name (lower case, without a port); undefined
   * if no zone does. A deleted zone is noticed by its event, a new closer zone within five seconds.
   */
  find(host: string): string | undefined | Promise<string | undefined>;
  close(): void;
}

interface HostOwnersDeps {
  zones: Pick<RoutingZones, "findEnclosing">;
  events: Events;
  /** Topic of the events for deleted zones. */
  zoneDeletedTopic: string;
  clock: Clock;
}

/**
 * Caches the owners of the hosts for which a route, a custom domain or a bucket exists. The rows of routes, domains and
 * buckets outlive their zone if a crash prevents their deletion, so every request checks the owner.
 */
export function createHostOwners({ zones, events, zoneDeletedTopic, clock }: HostOwnersDeps): HostOwners {
  const owners = new Map<string, { account: string; until: number }>();
  /** Incremented by each deletion of a zone: a read that began earlier may return a deleted zone. */
  let generation = 0;
  const close = events.subscribe(zoneDeletedTopic, () => {
    generation++;
    owners.clear();
  });

  async function read(host: string): Promise<string | undefined> {
    const before = generation;
    try {
      const account = (await zones.findEnclosing(host))?.account;
      owners.delete(host);
      if (account !== undefined && before === generation) {
        // A Map keeps insertion order, so the first entry is the oldest.
        if (owners.size >= MAX_HOSTS) owners.delete(owners.keys().next().value!);
        owners.set(host, { account, until: clock.now() + FRESH_MS });
      }
      return account;
    } catch (err) {
      // Uses the cached owner, so that workers keep running while the database is unavailable.
      const known = owners.get(host);
      if (known === undefined) throw err;
      return known.account;
    }
  }

  return {
    find(host) {
      const known = owners.get(host);
      return known !== undefined && known.until > clock.now() ? known.account : read(host);
    },
    close,
  };
}
