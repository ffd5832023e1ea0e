import type { Clock } from "./clock.ts";

/**
 * A clock that is corrected from another source of time. Between corrections it follows the monotonic clock of the
 * process.
 */
export interface CorrectedClock extends Clock {
  /**
   * Records that the time was `time` (epoch milliseconds) at `at` on the monotonic clock. The clock never runs
   * backwards: if it is ahead, it returns the same time until the correct time has reached it.
   */
  correct(time: number, at: number): void;
}

/** Follows `local` until the first correction. `monotonic` returns milliseconds. */
export function createCorrectedClock(local: Clock, monotonic: () => number = () => performance.now()): CorrectedClock {
  let reference: { time: number; at: number } | undefined;
  let last = -Infinity;
  return {
    now() {
      if (reference === undefined) return local.now();
      last = Math.max(last, Math.floor(reference.time + monotonic() - reference.at));
      return last;
    },
    sleep: local.sleep,
    correct(time, at) {
      // The first correction may set the clock back: nothing has been stored yet.
      reference = { time, at };
    },
  };
}
