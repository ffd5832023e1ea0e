import type { Clock } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";

/**
 * Who may be connected. Places are few, and clients that only hold one are many: so a network has no more than its share, and when all places
 * are taken a newcomer gets that of a client which has been resting, from the network with the most places first.
 */
export interface Room {
  enter(ip: string, occupant: Occupant): Place | "too many of them" | "full";
  readonly taken: number;
}

export interface Occupant {
  /** Whether it is the client who is waited for. Only then its place can be taken. */
  readonly resting: boolean;
  /** Ends the connection at once. */
  evict(): void;
}

export interface Place {
  /** Who has it; may change as a connection comes into being. */
  occupant: Occupant;
  /** Its client did something that is worth a place. */
  active(): void;
  /** May be called again. */
  leave(): void;
}

export interface RoomOptions {
  places: number;
  /** Of one IPv4 address or IPv6 /64. */
  perNetwork: number;
  /** Milliseconds of rest after which a place can be taken for a client from any network. */
  restMs: number;
  clock: Pick<Clock, "now">;
}

interface Entry {
  network: Network;
  place: Place;
  since: number;
}

/** The places of one network, the one that rested longest first. */
interface Network {
  key: string;
  entries: Set<Entry>;
}

/** Busy places that are passed over in search of one at rest: the search costs the same whatever the number of places. */
const SEARCHED = 64;

export function createRoom({ places, perNetwork, restMs, clock }: RoomOptions): Room {
  const networks = new Map<string, Network>();
  /** Networks by how many places they have, so that the largest is at hand. */
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

  /** Whose place a newcomer gets, whose network has `own` places so far. */
  function victim(own: number): Entry | undefined {
    const fair = firstAtRest(crowds(own + 2));
    if (fair !== undefined) return fair;
    const idle = firstAtRest(all);
    return idle !== undefined && clock.now() - idle.since >= restMs ? idle : undefined;
  }

  /** The places of networks that have at least so many, the largest first. */
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
