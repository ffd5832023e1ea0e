import type { Clock } from "../../../kernel/index.ts";

/** A circuit breaker: remembers recent failures, so that not every message has to rediscover them. */
export interface Breaker {
  /**
   * Returns the end of the pause of `key` and its reason. Undefined if it may be tried; the first attempt after a pause
   * decides whether another pause follows.
   */
  activePause(key: string): { until: number; why: string } | undefined;
  recordFailure(key: string, why: string): void;
  /** Returns the number of failures since the last success. */
  failureCount(key: string): number;
  recordSuccess(key: string): void;
  /** Ends a pause. The next failure starts a longer one. */
  resume(key: string): void;
  /** Adopts a pause that was started in another process or before a restart, unless the current pause is longer. */
  restore(pause: BreakerPause): void;
  /** True if a failure in this process started the active pause. */
  isOwnPause(key: string): boolean;
  /** Counts a failure in another process. Only that process decides whether to pause. */
  recordRemoteFailure(key: string): void;
  /** Removes the failures and the pause of the key, because another process has succeeded. */
  recordRemoteSuccess(key: string): void;
  /** Returns the active pauses. */
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
  /** Called for a failure that does not start a pause. */
  onFailure?: (key: string) => void;
  /** Called for a success after failures. */
  onSuccess?: (key: string) => void;
}

/** Maximum number of entries; above it, the entry with the oldest failure is evicted. */
const MAX_ENTRIES = 10_000;

export function createBreaker({
  clock,
  failureThreshold,
  minMs,
  maxMs,
  onPause,
  onResume,
  onFailure,
  onSuccess,
}: BreakerOptions): Breaker {
  const entries = new Map<string, { failures: number; until: number; why: string; isRestored?: boolean }>();

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
      else onFailure?.(key);
    },
    failureCount: (key) => entries.get(key)?.failures ?? 0,
    recordSuccess(key) {
      const entry = entries.get(key);
      entries.delete(key);
      if (entry === undefined) return;
      if (entry.failures >= failureThreshold) onResume?.(key);
      onSuccess?.(key);
    },
    resume(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.now()) return;
      entry.until = clock.now();
      onResume?.(key);
    },
    restore({ key, until, why }) {
      const before = entries.get(key);
      if (until <= Math.max(clock.now(), before?.until ?? 0)) return;
      // The pause doubles with each failure, so the number of failures follows from its length.
      const doublings = Math.max(0, Math.floor(Math.log2(Math.max(1, (until - clock.now()) / minMs))));
      entries.delete(key);
      entries.set(key, {
        failures: Math.max(before?.failures ?? 0, failureThreshold + doublings),
        until,
        why,
        isRestored: true,
      });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
    },
    isOwnPause(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() && entry.isRestored !== true;
    },
    recordRemoteFailure(key) {
      const { failures = 0, until = 0, why = "" } = entries.get(key) ?? {};
      if (until > clock.now()) return;
      entries.delete(key);
      entries.set(key, { failures: failures + 1, until, why });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
    },
    recordRemoteSuccess: (key) => void entries.delete(key),
    list: () =>
      [...entries].filter(([, { until }]) => until > clock.now()).map(([key, { until, why }]) => ({ key, until, why })),
  };
}
