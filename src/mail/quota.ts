import type { Clock } from "../kernel/index.ts";

export interface Quota {
  /** Counts one; 0, or the seconds to wait where it is used up, and nothing is counted then. */
  take(key: string): number;
}

export interface QuotaOptions {
  clock: Pick<Clock, "now">;
  /** So many in each period; 0: no limit. */
  limit: number;
  perMs: number;
}

/** Those who are counted at the same time; the one that began first is forgotten. */
const MAX_KEYS = 10_000;

/** How often something is done, by whom, in periods that begin with the first. Counts in this process's memory: a bound, no book-keeping. */
export function createQuota({ clock, limit, perMs }: QuotaOptions): Quota {
  const periods = new Map<string, { until: number; count: number }>();

  return {
    take(key) {
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
