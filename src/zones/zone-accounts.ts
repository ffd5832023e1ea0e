import type { Events } from "../store/index.ts";

export const ZONE_DELETED = "zones.deleted";

interface ZoneAccounts {
  /**
   * Resolves with the account of a zone, or undefined if the zone does not exist. Called for every request about a
   * zone, and usually cached.
   */
  find(zone: string): Promise<string | undefined>;
  /** The account, if it is cached. */
  cached(zone: string): string | undefined;
  forget(zone: string): void;
  close(): void;
}

/**
 * Caches the `max` most recently used zones. The account of a zone never changes, so only deletions invalidate an
 * entry, including deletions by other processes. Missing zones are not cached, because they may be created at any time.
 */
export function createZoneAccounts({
  read,
  events,
  max = 10_000,
}: {
  read(zone: string): Promise<string | undefined>;
  events: Events;
  max?: number;
}): ZoneAccounts {
  const cachedAccounts = new Map<string, string>();
  /** Incremented by each invalidation: a read that began earlier may return a deleted zone. */
  let generation = 0;

  function forget(zone: string) {
    generation++;
    // An empty id means that notifications may have been lost.
    if (zone === "") cachedAccounts.clear();
    else cachedAccounts.delete(zone);
  }
  const unsubscribe = events.subscribe(ZONE_DELETED, forget);

  return {
    async find(zone) {
      const account = cachedAccounts.get(zone);
      if (account !== undefined) return account;
      const before = generation;
      const foundAccount = await read(zone);
      if (foundAccount !== undefined && before === generation) {
        if (cachedAccounts.size >= max) cachedAccounts.delete(cachedAccounts.keys().next().value!);
        cachedAccounts.set(zone, foundAccount);
      }
      return foundAccount;
    },
    cached: (zone) => cachedAccounts.get(zone),
    forget,
    close: unsubscribe,
  };
}
