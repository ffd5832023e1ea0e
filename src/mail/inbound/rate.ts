import type { Clock } from "../../kernel/index.ts";

/** A rate limit with a separate budget per key. */
interface Rate {
  /** Counts one event; false if it exceeds the limit. */
  consume(key: string): boolean;
  /** True if the next event would exceed the limit. */
  isExhausted(key: string): boolean;
}

interface RateOptions {
  /** Size of the burst, which is also the number of events per `perMs`. 0 means no limit. */
  limit: number;
  perMs: number;
  clock: Pick<Clock, "now">;
  /** Maximum number of keys; the least recently used one is evicted. Default 50,000. */
  keys?: number;
}

/** Creates a token bucket per key. */
export function createRate({ limit, perMs, clock, keys = 50_000 }: RateOptions): Rate {
  const buckets = new Map<string, { left: number; at: number }>();

  function bucketOf(key: string) {
    const now = clock.now();
    const { left, at } = buckets.get(key) ?? { left: limit, at: now };
    return { left: Math.min(limit, left + (Math.max(0, now - at) * limit) / perMs), at: now };
  }

  return {
    consume(key) {
      if (limit === 0) return true;
      const bucket = bucketOf(key);
      const hasToken = bucket.left >= 1;
      if (hasToken) bucket.left--;
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > keys) buckets.delete(buckets.keys().next().value!);
      return hasToken;
    },
    isExhausted: (key) => limit !== 0 && bucketOf(key).left < 1,
  };
}
