import type { Clock } from "../../../kernel/index.ts";

/** Remembers who failed lately, so that not every message has to find out again. */
export interface Breaker {
  /** Until when `key` is left alone, and why. Undefined when it may be tried; the first try after a pause decides about the next. */
  blocked(key: string): { until: number; why: string } | undefined;
  failed(key: string, why: string): void;
  /** Failures since the last success. */
  failures(key: string): number;
  succeeded(key: string): void;
  /** Ends a pause. The next failure starts a longer one. */
  resume(key: string): void;
  /** Restores a pause that an earlier process started. */
  restore(pause: BreakerPause): void;
  /** The pauses in force. */
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
  /** Failures in a row before a pause. */
  after: number;
  /** The first pause; each one after is twice as long, up to `maxMs`. */
  minMs: number;
  maxMs: number;
  /** Called when a pause starts. */
  onPause?: (pause: BreakerPause) => void;
  /** Called when a paused key succeeds or is resumed. */
  onResume?: (key: string) => void;
}

/** Entries kept; beyond it the one that failed longest ago is forgotten. */
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
      // Begun before the pause, and no news.
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
