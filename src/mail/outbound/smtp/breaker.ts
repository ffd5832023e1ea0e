import type { Clock } from "../../../kernel/index.ts";

/** A circuit breaker: remembers recent failures, so that not every message has to rediscover them. */
export interface Breaker {
  /**
   * Returns until when `key` is paused, and why. Undefined if it may be tried; the first attempt after a pause decides
   * whether another pause follows.
   */
  blocked(key: string): { until: number; why: string } | undefined;
  failed(key: string, why: string): void;
  /** Number of failures since the last success. */
  failures(key: string): number;
  succeeded(key: string): void;
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
  after: number;
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

export function createBreaker({ clock, after, minMs, maxMs, onPause, onResume }: BreakerOptions): Breaker {
  const entries = new Map<string, { failures: number; until: number; why: string }>();

  return {
    blocked(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() ? { until: entry.until, why: entry.why } : undefined;
    },
    failed(key, why) {
      const before = entries.get(key);
      // This attempt started before the pause; its failure adds nothing.
      if (before !== undefined && before.until > clock.now()) return;
      const failures = (before?.failures ?? 0) + 1;
      const pause = failures < after ? 0 : Math.min(maxMs, minMs * 2 ** Math.min(failures - after, 30));
      entries.delete(key);
      const until = clock.now() + pause;
      entries.set(key, { failures, until, why });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
      if (pause > 0) onPause?.({ key, until, why });
    },
    failures: (key) => entries.get(key)?.failures ?? 0,
    succeeded(key) {
      const entry = entries.get(key);
      entries.delete(key);
      if (entry !== undefined && entry.failures >= after) onResume?.(key);
    },
    resume(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.now()) return;
      entry.until = clock.now();
      onResume?.(key);
    },
    restore({ key, until, why }) {
      if (until > clock.now() && !entries.has(key)) entries.set(key, { failures: after, until, why });
    },
    list: () =>
      [...entries].filter(([, { until }]) => until > clock.now()).map(([key, { until, why }]) => ({ key, until, why })),
  };
}
