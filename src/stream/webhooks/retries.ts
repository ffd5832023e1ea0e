const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What is waited for after each attempt that fails: soon for a restart, later for an outage, for 24 hours in all. */
export const RETRY_MS: readonly number[] = [
  5000,
  30_000,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  6 * HOUR,
  10 * HOUR,
];

export const ATTEMPTS = RETRY_MS.length + 1;

/** Before attempt n + 1, n from 1. */
export const retryDelay = (attempt: number): number => RETRY_MS[Math.min(attempt, RETRY_MS.length) - 1]!;
