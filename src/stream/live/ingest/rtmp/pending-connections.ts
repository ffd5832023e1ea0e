import { networkOf } from "../../../../kernel/networks.ts";

/**
 * Connections before their `publish` or `play` command. They are few and short-lived: at the limit the oldest one is
 * evicted, preferably from the same network, so that silent clients cannot lock out other clients.
 */
interface PendingConnections {
  /**
   * Adds a connection. `evict` is called at most once, and never after the returned function, which removes the
   * connection.
   */
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
  const networkOfConnection = new Map<() => void, string>();

  function removeConnection(evict: () => void): boolean {
    const network = networkOfConnection.get(evict);
    if (network === undefined) return false;
    networkOfConnection.delete(evict);
    const networkConnections = networks.get(network)!;
    networkConnections.delete(evict);
    if (networkConnections.size === 0) networks.delete(network);
    return true;
  }

  const drop = (evict: () => void) => removeConnection(evict) && evict();

  return {
    add(address, evictCallback) {
      const evict = () => evictCallback();
      const network = networkOf(address);
      const networkConnections = networks.getOrInsertComputed(network, () => new Set());
      if (networkConnections.size >= perNetwork) drop(networkConnections.values().next().value!);
      if (networkOfConnection.size >= maxTotal) drop(networkOfConnection.keys().next().value!);
      // The eviction may have removed the set.
      networks.getOrInsertComputed(network, () => networkConnections).add(evict);
      networkOfConnection.set(evict, network);
      return () => void removeConnection(evict);
    },
    get size() {
      return networkOfConnection.size;
    },
  };
}
