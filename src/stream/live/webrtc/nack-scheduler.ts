/** Schedules NACKs for missing packets (RFC 4585, 6.2.1). */
interface NackScheduler {
  /** Returns the packets to request now. `missing`: all missing packets; `now`: milliseconds. */
  due(missing: readonly number[], now: number): number[];
}

/** Longer than a typical round trip: a packet requested again sooner would arrive twice. */
const RETRY_INTERVAL_MS = 80;
const MAX_RETRIES = 5;
/** Maximum packets per message. */
const MAX_PER_MESSAGE = 100;

/** Requests each packet immediately, then up to four more times while it is missing. */
export function createNackScheduler(): NackScheduler {
  let nacked = new Map<number, { at: number; times: number }>();
  return {
    due(missing, now) {
      const next: typeof nacked = new Map();
      const dueNumbers: number[] = [];
      for (const number of missing) {
        const before = nacked.get(number);
        const isDue = before === undefined || (now - before.at >= RETRY_INTERVAL_MS && before.times < MAX_RETRIES);
        if (isDue && dueNumbers.length < MAX_PER_MESSAGE) dueNumbers.push(number);
        if (before !== undefined || isDue)
          next.set(number, isDue ? { at: now, times: (before?.times ?? 0) + 1 } : before!);
      }
      nacked = next;
      return dueNumbers;
    },
  };
}
