import type { Clock } from "../../kernel/index.ts";

/** A rate limit with a separate budget per key. */
interface Rate {
  /** Counts one event; false if it exceeds the limit. */
  take(key: string): boolean;
  /** True if the next event would exceed the limit. */
  spent(key: string): boolean;
}

interface RateOptions {
  /** Size of the burst, which is also the number of events per `perMs`. 0 means no limit. */
  most: number;
  perMs: number;
  clock: Pick<Clock, "now">;
  /** Maximum number of keys; the least recently used one is evicted. Default 50,000. */
  keys?: number;
}

/** A token bucket per key. */
export function createRate({ most, perMs, clock, keys = 50_000 }: RateOptions): Rate {
  const buckets = new Map<string, { left: number; at: number }>();

  function bucketOf(key: string) {
    const now = clock.now();
    const { left, at } = buckets.get(key) ?? { left: most, at: now };
    return { left: Math.min(most, left + (Math.max(0, now - at) * most) / perMs), at: now };
  }

  return {
    take(key) {
      if (most === 0) return true;
      const bucket = bucketOf(key);
      const enough = bucket.left >= 1;
      if (enough) bucket.left--;
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > keys) buckets.delete(buckets.keys().next().value!);
      return enough;
    },
    spent: (key) => most !== 0 && bucketOf(key).left < 1,
  };
}
