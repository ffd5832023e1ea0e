import { networkOf } from "../../../../kernel/networks.ts";

/**
 * Connections that have not said yet what they want. They are few and short-lived: where there are too many, the one that has been there for longest makes
 * room, of the same network first, so that those who open connections and say nothing keep nobody out.
 */
export interface Hall {
  /** `evict` is called at most once, and not after the returned function, which takes it out. */
  enter(address: string, evict: () => void): () => void;
  readonly size: number;
}

export function createHall({ most, perNetwork }: { most: number; perNetwork: number }): Hall {
  /** By network, in the order of their coming. */
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
    enter(address, given) {
      const evict = () => given();
      const network = networkOf(address);
      const own = networks.getOrInsertComputed(network, () => new Set());
      if (own.size >= perNetwork) drop(own.values().next().value!);
      if (all.size >= most) drop(all.keys().next().value!);
      // It may have been emptied just now.
      networks.getOrInsertComputed(network, () => own).add(evict);
      all.set(evict, network);
      return () => void leave(evict);
    },
    get size() {
      return all.size;
    },
  };
}
