import type { Clock } from "../../kernel/index.ts";

/** How often something may happen, for each key by itself. */
export interface Rate {
  /** Counts one more; false when that is too many. */
  take(key: string): boolean;
  /** Whether one more would be. */
  spent(key: string): boolean;
}

export interface RateOptions {
  /** So many at once, and as many again in `perMs`. 0: no limit. */
  most: number;
  perMs: number;
  clock: Pick<Clock, "now">;
  /** Keys that are remembered; the one that was quiet longest is forgotten first. Default 50,000. */
  keys?: number;
}

/** A bucket of tokens for each key. */
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
