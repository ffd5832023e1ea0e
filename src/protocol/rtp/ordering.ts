import { createUnwrapping } from "./sequence.ts";

/** The fields of an RTP packet needed here (RFC 3550, 5.1). */
export interface RtpPart {
  sequence: number;
  timestamp: number;
  marker: boolean;
  payload: Buffer;
}

export interface OrderedPart extends RtpPart {
  /** Number of packets before this one that did not arrive in time. */
  missing: number;
}

export interface Ordering {
  /** Returns packets that are ready, in sending order. `now`: time of any clock in milliseconds. */
  push(part: RtpPart, now: number): OrderedPart[];
  /** Returns the missing sequence numbers, in the form used in packets. */
  missing(): number[];
}

/** A jump of at least this size is not a loss: the sender has restarted. */
const ANOTHER_BEGINNING = 3000;

/**
 * Orders packets by sequence number and removes duplicates. Early packets wait for missing ones, which are requested
 * again, for at most `waitMs` and up to `most` packets; if no packet is missing, none waits.
 */
export function createOrdering({ waitMs, most }: { waitMs: number; most: number }): Ordering {
  let unwrap = createUnwrapping(16);
  let next: number | undefined;
  const waiting = new Map<number, { part: RtpPart; since: number }>();

  function drain(from: number, out: OrderedPart[]): void {
    next = from;
    for (let held = waiting.get(next); held !== undefined; held = waiting.get(next)) {
      waiting.delete(next);
      out.push({ ...held.part, missing: 0 });
      next++;
    }
  }

  /** Skips the packets missing before the first waiting one. */
  function skip(out: OrderedPart[]): void {
    const first = Math.min(...waiting.keys());
    const missing = first - next!;
    const before = out.length;
    drain(first, out);
    out[before]!.missing = missing;
  }

  const tooLate = (now: number) =>
    waiting.size > most || [...waiting.values()].some(({ since }) => now - since > waitMs);

  return {
    push(part, now) {
      const out: OrderedPart[] = [];
      let number = unwrap(part.sequence);
      if (next !== undefined && Math.abs(number - next) > ANOTHER_BEGINNING) {
        while (waiting.size > 0) skip(out);
        unwrap = createUnwrapping(16);
        number = unwrap(part.sequence);
        next = undefined;
      }
      if (next === undefined) {
        out.push({ ...part, missing: 0 });
        next = number + 1;
        return out;
      }
      if (number < next || waiting.has(number)) return out;
      waiting.set(number, { part, since: now });
      if (number === next) drain(next, out);
      while (waiting.size > 0 && tooLate(now)) skip(out);
      return out;
    },
    missing() {
      const out: number[] = [];
      if (waiting.size === 0) return out;
      for (let number = next!, last = Math.max(...waiting.keys()); number < last && out.length < most; number++)
        if (!waiting.has(number)) out.push(number & 0xffff);
      return out;
    },
  };
}
