/** Which of the packets that are missing are asked for now (RFC 4585, 6.2.1). */
export interface Repeats {
  /** `missing` as they are now; `now`: milliseconds. */
  due(missing: readonly number[], now: number): number[];
}

/** Longer than the way there and back as a rule: asked sooner, a packet would come twice. */
const AGAIN_MS = 80;
const MOST_TIMES = 5;
/** In one message. */
const MOST = 100;

/** Each at once and then some times more, until it comes or is not waited for any longer. */
export function createRepeats(): Repeats {
  let asked = new Map<number, { at: number; times: number }>();
  return {
    due(missing, now) {
      const next: typeof asked = new Map();
      const due: number[] = [];
      for (const number of missing) {
        const before = asked.get(number);
        const again = before === undefined || (now - before.at >= AGAIN_MS && before.times < MOST_TIMES);
        if (again && due.length < MOST) due.push(number);
        if (before !== undefined || again)
          next.set(number, again ? { at: now, times: (before?.times ?? 0) + 1 } : before!);
      }
      asked = next;
      return due;
    },
  };
}
