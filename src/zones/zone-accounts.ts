import type { Events } from "../store/index.ts";

export const ZONE_DELETED = "zones.deleted";

export interface ZoneAccounts {
  /** The account of a zone, or undefined when there is no such zone. Asked for every request about a zone: mostly answered from memory. */
  find(zone: string): Promise<string | undefined>;
  forget(zone: string): void;
  close(): void;
}

/**
 * Remembers at most `max` zones, those asked for last. A zone never changes its account, so only its end has to be heard of,
 * also from other processes. Zones that are not there are not remembered: they may be made at any time.
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
  const known = new Map<string, string>();
  /** Counts what was forgotten: an answer that was asked for before may be about a zone that is gone. */
  let era = 0;

  function forget(zone: string) {
    era++;
    // An empty id: hints may have been lost.
    if (zone === "") known.clear();
    else known.delete(zone);
  }
  const unsubscribe = events.subscribe(ZONE_DELETED, forget);

  return {
    async find(zone) {
      const account = known.get(zone);
      if (account !== undefined) return account;
      const asked = era;
      const found = await read(zone);
      if (found !== undefined && asked === era) {
        if (known.size >= max) known.delete(known.keys().next().value!);
        known.set(zone, found);
      }
      return found;
    },
    forget,
    close: unsubscribe,
  };
}
