import type { Clock } from "../../../kernel/index.ts";

/** Remembers who failed lately, so that not every message has to find out again. */
export interface Breaker {
  /** Until when `key` is left alone, and why. Undefined when it may be tried; the first try after a pause decides about the next. */
  blocked(key: string): { until: number; why: string } | undefined;
  failed(key: string, why: string): void;
  /** Failures since the last success. */
  failures(key: string): number;
  succeeded(key: string): void;
  /** Everyone that is left alone now. */
  list(): { key: string; until: number; why: string }[];
}

export interface BreakerOptions {
  clock: Pick<Clock, "now">;
  /** Failures in a row before a pause. */
  after: number;
  /** The first pause; each one after is twice as long, up to `maxMs`. */
  minMs: number;
  maxMs: number;
}

/** Entries kept; beyond it the one that failed longest ago is forgotten. */
const MAX_ENTRIES = 10_000;

export function createBreaker({ clock, after, minMs, maxMs }: BreakerOptions): Breaker {
  const entries = new Map<string, { failures: number; until: number; why: string }>();

  return {
    blocked(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() ? { until: entry.until, why: entry.why } : undefined;
    },
    failed(key, why) {
      const before = entries.get(key);
      // Begun before the pause, and no news.
      if (before !== undefined && before.until > clock.now()) return;
      const failures = (before?.failures ?? 0) + 1;
      const pause = failures < after ? 0 : Math.min(maxMs, minMs * 2 ** Math.min(failures - after, 30));
      entries.delete(key);
      entries.set(key, { failures, until: clock.now() + pause, why });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
    },
    failures: (key) => entries.get(key)?.failures ?? 0,
    succeeded: (key) => void entries.delete(key),
    list: () => [...entries].filter(([, { until }]) => until > clock.now()).map(([key, { until, why }]) => ({ key, until, why })),
  };
}
