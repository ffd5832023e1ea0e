import type { Clock } from "../../kernel/index.ts";

export interface MinuteQuota {
  /** Counts one; 0, or the seconds to wait where the minute is full, and nothing is counted then. */
  take(key: string): number;
}

const MINUTE_MS = 60_000;
const MAX_KEYS = 10_000;

/** How often something is done in a minute, by whom. Counts in this process's memory: a bound, no book-keeping. `limit` 0 is none. */
export function createMinuteQuota(clock: Pick<Clock, "now">, limit: number): MinuteQuota {
  const minutes = new Map<string, { until: number; count: number }>();

  return {
    take(key) {
      if (limit === 0) return 0;
      const now = clock.now();
      let minute = minutes.get(key);
      if (minute === undefined || minute.until <= now) {
        minute = { until: now + MINUTE_MS, count: 0 };
        minutes.delete(key);
        if (minutes.size >= MAX_KEYS) minutes.delete(minutes.keys().next().value!);
        minutes.set(key, minute);
      }
      if (minute.count >= limit) return Math.ceil((minute.until - now) / 1000);
      minute.count++;
      return 0;
    },
  };
}
