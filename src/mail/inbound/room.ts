import type { Clock } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";

/**
 * Limits connections. Slots are few, and many clients only hold one. So each network has a maximum share, and when all
 * slots are taken, a new client replaces an idle one, first from the network with the most slots.
 */
export interface Room {
  enter(ip: string, occupant: Occupant): Place | "too many of them" | "full";
  readonly taken: number;
}

export interface Occupant {
  /** True while the server waits for the client. Only then the slot can be taken away. */
  readonly resting: boolean;
  /** Ends the connection immediately. */
  evict(): void;
}

export interface Place {
  /** The holder; may change while the connection is being set up. */
  occupant: Occupant;
  /** The client made progress: restarts its idle time. */
  active(): void;
  /** Idempotent. */
  leave(): void;
}

export interface RoomOptions {
  places: number;
  /** Per IPv4 address or IPv6 /64. */
  perNetwork: number;
  /** Idle milliseconds after which a client from any network may take over the slot. */
  restMs: number;
  clock: Pick<Clock, "now">;
}

interface Entry {
  network: Network;
  place: Place;
  since: number;
}

/** The slots of one network, longest idle first. */
interface Network {
  key: string;
  entries: Set<Entry>;
}

/**
 * Number of busy slots skipped in search of an idle one: bounds the cost of the search, however many slots there are.
 */
const SEARCHED = 64;

export function createRoom({ places, perNetwork, restMs, clock }: RoomOptions): Room {
  const networks = new Map<string, Network>();
  /** Networks by number of slots, to find the largest quickly. */
  const bySize = new Map<number, Set<Network>>();
  const all = new Set<Entry>();
  let largest = 0;

  function resize(network: Network, change: () => void) {
    bySize.get(network.entries.size)?.delete(network);
    change();
    const size = network.entries.size;
    if (size === 0) networks.delete(network.key);
    else {
      if (!bySize.has(size)) bySize.set(size, new Set());
      bySize.get(size)!.add(network);
    }
    largest = Math.max(largest, size);
    while (largest > 0 && (bySize.get(largest)?.size ?? 0) === 0) bySize.delete(largest--);
  }

  function remove(entry: Entry) {
    if (all.delete(entry)) resize(entry.network, () => entry.network.entries.delete(entry));
  }

  /** The slot that a new client takes over; its network already has `own` slots. */
  function victim(own: number): Entry | undefined {
    const fair = firstAtRest(crowds(own + 2));
    if (fair !== undefined) return fair;
    const idle = firstAtRest(all);
    return idle !== undefined && clock.now() - idle.since >= restMs ? idle : undefined;
  }

  /** The slots of networks with at least `least` slots, largest network first. */
  function* crowds(least: number): Iterable<Entry> {
    for (let size = largest; size >= least; size--) {
      for (const network of bySize.get(size) ?? []) yield* network.entries;
    }
  }

  return {
    get taken() {
      return all.size;
    },
    enter(ip, occupant) {
      const key = networkOf(ip);
      const own = networks.get(key)?.entries.size ?? 0;
      if (own >= perNetwork) return "too many of them";
      if (all.size >= places) {
        const found = victim(own);
        if (found === undefined) return "full";
        remove(found);
        found.place.occupant.evict();
      }
      const network = networks.get(key) ?? { key, entries: new Set<Entry>() };
      networks.set(key, network);
      const place: Place = {
        occupant,
        active() {
          if (!all.delete(entry)) return;
          entry.since = clock.now();
          all.add(entry);
          network.entries.delete(entry);
          network.entries.add(entry);
        },
        leave: () => remove(entry),
      };
      const entry: Entry = { network, place, since: clock.now() };
      all.add(entry);
      resize(network, () => network.entries.add(entry));
      return place;
    },
  };
}

function firstAtRest(entries: Iterable<Entry>): Entry | undefined {
  let left = SEARCHED;
  for (const entry of entries) {
    if (entry.place.occupant.resting) return entry;
    if (--left === 0) return undefined;
  }
  return undefined;
}
