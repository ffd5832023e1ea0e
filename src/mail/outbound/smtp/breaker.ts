import type { Clock } from "../../../kernel/index.ts";

/** A circuit breaker: remembers recent failures, so that not every message has to rediscover them. */
export interface Breaker {
  /**
   * Returns until when `key` is paused, and why. Undefined if it may be tried; the first attempt after a pause decides
   * whether another pause follows.
   */
  activePause(key: string): { until: number; why: string } | undefined;
  recordFailure(key: string, why: string): void;
  /** Number of failures since the last success. */
  failureCount(key: string): number;
  recordSuccess(key: string): void;
  /** Ends a pause. The next failure starts a longer one. */
  resume(key: string): void;
  /** Restores a pause started by an earlier process. */
  restore(pause: BreakerPause): void;
  /** The active pauses. */
  list(): BreakerPause[];
}

export interface BreakerPause {
  key: string;
  /** Epoch milliseconds. */
  until: number;
  why: string;
}

export interface BreakerOptions {
  clock: Pick<Clock, "now">;
  /** Number of consecutive failures before a pause. */
  failureThreshold: number;
  /** Length of the first pause; each further pause is twice as long, up to `maxMs`. */
  minMs: number;
  maxMs: number;
  /** Called when a pause starts. */
  onPause?: (pause: BreakerPause) => void;
  /** Called when a paused key succeeds or is resumed. */
  onResume?: (key: string) => void;
}

/** Maximum number of entries; above it, the entry with the oldest failure is evicted. */
const MAX_ENTRIES = 10_000;

export function createBreaker({ clock, failureThreshold, minMs, maxMs, onPause, onResume }: BreakerOptions): Breaker {
  const entries = new Map<string, { failures: number; until: number; why: string }>();

  return {
    activePause(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() ? { until: entry.until, why: entry.why } : undefined;
    },
    recordFailure(key, why) {
      const before = entries.get(key);
      // This attempt started before the pause; its failure adds nothing.
      if (before !== undefined && before.until > clock.now()) return;
      const failures = (before?.failures ?? 0) + 1;
      const pause =
        failures < failureThreshold ? 0 : Math.min(maxMs, minMs * 2 ** Math.min(failures - failureThreshold, 30));
      entries.delete(key);
      const until = clock.now() + pause;
      entries.set(key, { failures, until, why });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
      if (pause > 0) onPause?.({ key, until, why });
    },
    failureCount: (key) => entries.get(key)?.failures ?? 0,
    recordSuccess(key) {
      const entry = entries.get(key);
      entries.delete(key);
      if (entry !== undefined && entry.failures >= failureThreshold) onResume?.(key);
    },
    resume(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.now()) return;
      entry.until = clock.now();
      onResume?.(key);
    },
    restore({ key, until, why }) {
      if (until > clock.now() && !entries.has(key)) entries.set(key, { failures: failureThreshold, until, why });
    },
    list: () =>
      [...entries].filter(([, { until }]) => until > clock.now()).map(([key, { until, why }]) => ({ key, until, why })),
  };
}
