import { createUnwrapper } from "./sequence.ts";

/** The fields of an RTP packet needed here (RFC 3550, 5.1). */
export interface RtpPacketFields {
  sequence: number;
  timestamp: number;
  marker: boolean;
  payload: Buffer;
}

export interface OrderedPacket extends RtpPacketFields {
  /** Number of packets before this one that did not arrive in time. */
  missing: number;
}

export interface ReorderBuffer {
  /** Returns packets that are ready, in sending order. `now`: time of any clock in milliseconds. */
  push(part: RtpPacketFields, now: number): OrderedPacket[];
  /** Returns the missing sequence numbers, in the form used in packets. */
  missing(): number[];
}

/** A jump of at least this size is not a loss: the sender has restarted. */
const ANOTHER_BEGINNING = 3000;

/**
 * Orders packets by sequence number and removes duplicates. Early packets wait for missing ones, which are requested
 * again, for at most `waitMs` and up to `maxPackets` packets; if no packet is missing, none waits.
 */
export function createReorderBuffer({ waitMs, maxPackets }: { waitMs: number; maxPackets: number }): ReorderBuffer {
  let unwrap = createUnwrapper(16);
  let next: number | undefined;
  const waiting = new Map<number, { part: RtpPacketFields; since: number }>();

  function drain(from: number, out: OrderedPacket[]): void {
    next = from;
    for (let held = waiting.get(next); held !== undefined; held = waiting.get(next)) {
      waiting.delete(next);
      out.push({ ...held.part, missing: 0 });
      next++;
    }
  }

  /** Skips the packets missing before the first waiting one. */
  function skip(out: OrderedPacket[]): void {
    const first = Math.min(...waiting.keys());
    const missing = first - next!;
    const before = out.length;
    drain(first, out);
    out[before]!.missing = missing;
  }

  const tooLate = (now: number) =>
    waiting.size > maxPackets || [...waiting.values()].some(({ since }) => now - since > waitMs);

  return {
    push(part, now) {
      const out: OrderedPacket[] = [];
      let number = unwrap(part.sequence);
      if (next !== undefined && Math.abs(number - next) > ANOTHER_BEGINNING) {
        while (waiting.size > 0) skip(out);
        unwrap = createUnwrapper(16);
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
      for (let number = next!, last = Math.max(...waiting.keys()); number < last && out.length < maxPackets; number++)
        if (!waiting.has(number)) out.push(number & 0xffff);
      return out;
    },
  };
}
