import type { Clock } from "./clock.ts";

export interface Quota {
  /**
   * Counts one event and returns 0; if the quota is used up, counts nothing and returns the seconds to wait. Returns a
   * promise if the counts of other processes must be read.
   */
  consume(key: string): number | Promise<number>;
}

/** A quota that counts in this process only. */
interface LocalQuota extends Quota {
  consume(key: string): number;
}

interface QuotaOptions {
  clock: Pick<Clock, "now">;
  /** Maximum per period; 0 means no limit. */
  limit: number;
  perMs: number;
}

/** Maximum number of keys; the one whose period began first is evicted. */
const MAX_KEYS = 10_000;

/**
 * Creates a rate limit per key, in periods that begin with the first use. The counts are in the memory of this process,
 * so they limit usage but do not account for it.
 */
export function createQuota({ clock, limit, perMs }: QuotaOptions): LocalQuota {
  const periods = new Map<string, { until: number; count: number }>();

  return {
    consume(key) {
      if (limit === 0) return 0;
      const now = clock.now();
      let period = periods.get(key);
      if (period === undefined || period.until <= now) {
        period = { until: now + perMs, count: 0 };
        periods.delete(key);
        if (periods.size >= MAX_KEYS) periods.delete(periods.keys().next().value!);
        periods.set(key, period);
      }
      if (period.count >= limit) return Math.ceil((period.until - now) / 1000);
      period.count++;
      return 0;
    },
  };
}
