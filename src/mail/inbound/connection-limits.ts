import type { Clock } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";

/**
 * Limits connections. To keep idle clients from using all slots, each network has its own limit; when all slots are in
 * use, a new connection replaces an idle one, preferably from the network with the most connections.
 */
interface ConnectionLimits {
  /**
   * `network`: the client's network has reached its maximum number of connections. `full`: all slots are in use, and no
   * connection is idle.
   */
  acquire(ip: string, holder: SlotHolder): ConnectionSlot | "network" | "full";
  readonly used: number;
}

export interface SlotHolder {
  /** True if the server is waiting for the client. Only such a connection can be replaced. */
  isIdle(): boolean;
  /** Ends the connection immediately. */
  evict(): void;
}

export interface ConnectionSlot {
  /** The holder changes while a connection is being established. */
  holder: SlotHolder;
  /** Reports that the client made progress. */
  active(): void;
  /** Idempotent. */
  release(): void;
}

interface ConnectionLimitsOptions {
  slots: number;
  /** Maximum per IPv4 address or IPv6 /64. */
  perNetwork: number;
  /** Milliseconds without progress after which a connection from any network can replace this one. */
  minIdleMs: number;
  clock: Pick<Clock, "now">;
}

interface Entry {
  network: Network;
  slot: ConnectionSlot;
  since: number;
}

/** The slots of one network, longest idle first. */
interface Network {
  key: string;
  entries: Set<Entry>;
}

/** Maximum number of busy slots that a search skips, so that its cost does not depend on the number of slots. */
const MAX_SKIPPED = 64;

export function createConnectionLimits({
  slots,
  perNetwork,
  minIdleMs,
  clock,
}: ConnectionLimitsOptions): ConnectionLimits {
  const networks = new Map<string, Network>();
  /** Networks grouped by their number of slots. */
  const bySize = new Map<number, Set<Network>>();
  const allEntries = new Set<Entry>();
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
    if (allEntries.delete(entry)) resize(entry.network, () => entry.network.entries.delete(entry));
  }

  /** Returns the slot to evict for a new connection from a network that has `ownCount` slots. */
  function findVictim(ownCount: number): Entry | undefined {
    const fairVictim = firstIdle(crowdedEntries(ownCount + 2));
    if (fairVictim !== undefined) return fairVictim;
    const idleEntry = firstIdle(allEntries);
    return idleEntry !== undefined && clock.now() - idleEntry.since >= minIdleMs ? idleEntry : undefined;
  }

  /** Yields the slots of networks that have at least `minSize` slots, the largest network first. */
  function* crowdedEntries(minSize: number): Iterable<Entry> {
    for (let size = largest; size >= minSize; size--) {
      for (const network of bySize.get(size) ?? []) yield* network.entries;
    }
  }

  return {
    get used() {
      return allEntries.size;
    },
    acquire(ip, holder) {
      const key = networkOf(ip);
      const ownCount = networks.get(key)?.entries.size ?? 0;
      if (ownCount >= perNetwork) return "network";
      if (allEntries.size >= slots) {
        const victimEntry = findVictim(ownCount);
        if (victimEntry === undefined) return "full";
        remove(victimEntry);
        victimEntry.slot.holder.evict();
      }
      const network = networks.get(key) ?? { key, entries: new Set<Entry>() };
      networks.set(key, network);
      const slot: ConnectionSlot = {
        holder,
        active() {
          if (!allEntries.delete(entry)) return;
          entry.since = clock.now();
          allEntries.add(entry);
          network.entries.delete(entry);
          network.entries.add(entry);
        },
        release: () => remove(entry),
      };
      const entry: Entry = { network, slot, since: clock.now() };
      allEntries.add(entry);
      resize(network, () => network.entries.add(entry));
      return slot;
    },
  };
}

function firstIdle(entries: Iterable<Entry>): Entry | undefined {
  let skipsLeft = MAX_SKIPPED;
  for (const entry of entries) {
    if (entry.slot.holder.isIdle()) return entry;
    if (--skipsLeft === 0) return undefined;
  }
  return undefined;
}
