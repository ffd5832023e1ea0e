const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Delays after successive attempts; the last one repeats. RFC 5321 4.5.4.1 recommends half an hour in general and a few
 * quick retries first.
 */
export const DEFAULT_BACKOFF_MS = [1 * MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 1 * HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS];

/** RFC 5321 4.5.4.1: give up after four or five days. */
export const DEFAULT_LIFETIME_MS = 5 * 24 * HOUR_MS;

/** Adds random jitter of up to a tenth, so that messages that failed together are not retried together. */
export function createBackoff(
  steps: readonly number[] = DEFAULT_BACKOFF_MS,
  random: () => number = Math.random,
): (attempt: number) => number {
  return (attempt) => {
    const step = steps[Math.min(attempt, steps.length) - 1] ?? MINUTE_MS;
    return Math.round(step * (1 + random() / 10));
  };
}
