import { networkOf } from "../../../../kernel/networks.ts";

/**
 * Connections before their `publish` or `play` command. They are few and short-lived: at the limit the oldest one is
 * evicted, preferably from the same network, so that silent clients cannot lock out other clients.
 */
interface PendingConnections {
  /** Adds a connection. `evict` is called at most once, and never after the returned function, which removes the connection. */
  add(address: string, evict: () => void): () => void;
  readonly size: number;
}

export function createPendingConnections({
  maxTotal,
  perNetwork,
}: {
  maxTotal: number;
  perNetwork: number;
}): PendingConnections {
  /** Keyed by network, oldest first. */
  const networks = new Map<string, Set<() => void>>();
  const all = new Map<() => void, string>();

  function leave(evict: () => void): boolean {
    const network = all.get(evict);
    if (network === undefined) return false;
    all.delete(evict);
    const own = networks.get(network)!;
    own.delete(evict);
    if (own.size === 0) networks.delete(network);
    return true;
  }

  const drop = (evict: () => void) => leave(evict) && evict();

  return {
    add(address, given) {
      const evict = () => given();
      const network = networkOf(address);
      const own = networks.getOrInsertComputed(network, () => new Set());
      if (own.size >= perNetwork) drop(own.values().next().value!);
      if (all.size >= maxTotal) drop(all.keys().next().value!);
      // The eviction may have removed the set.
      networks.getOrInsertComputed(network, () => own).add(evict);
      all.set(evict, network);
      return () => void leave(evict);
    },
    get size() {
      return all.size;
    },
  };
}
