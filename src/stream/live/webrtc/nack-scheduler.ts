/** Schedules NACKs for missing packets (RFC 4585, 6.2.1). */
interface NackScheduler {
  /** The packets to request now. `missing`: all missing packets; `now`: milliseconds. */
  due(missing: readonly number[], now: number): number[];
}

/** Longer than a typical round trip: a packet requested again sooner would arrive twice. */
const AGAIN_MS = 80;
const MAX_TIMES = 5;
/** Maximum packets per message. */
const MAX_PER_MESSAGE = 100;

/** Requests each packet immediately, then up to four more times while it is missing. */
export function createNackScheduler(): NackScheduler {
  let nacked = new Map<number, { at: number; times: number }>();
  return {
    due(missing, now) {
      const next: typeof nacked = new Map();
      const due: number[] = [];
      for (const number of missing) {
        const before = nacked.get(number);
        const again = before === undefined || (now - before.at >= AGAIN_MS && before.times < MAX_TIMES);
        if (again && due.length < MAX_PER_MESSAGE) due.push(number);
        if (before !== undefined || again)
          next.set(number, again ? { at: now, times: (before?.times ?? 0) + 1 } : before!);
      }
      nacked = next;
      return due;
    },
  };
}
