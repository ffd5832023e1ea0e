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
const RESTART_DISTANCE = 3000;

/**
 * Orders packets by sequence number and removes duplicates. Early packets wait for missing ones, which are requested
 * again: up to `maxPackets` packets, each for at most `waitMs`. If no packet is missing, none waits.
 */
export function createReorderBuffer({ waitMs, maxPackets }: { waitMs: number; maxPackets: number }): ReorderBuffer {
  let unwrap = createUnwrapper(16);
  let next: number | undefined;
  const waitingParts = new Map<number, { part: RtpPacketFields; since: number }>();

  function drain(from: number, out: OrderedPacket[]): void {
    next = from;
    for (let heldPart = waitingParts.get(next); heldPart !== undefined; heldPart = waitingParts.get(next)) {
      waitingParts.delete(next);
      out.push({ ...heldPart.part, missing: 0 });
      next++;
    }
  }

  /** Skips the packets missing before the first waiting one. */
  function skip(out: OrderedPacket[]): void {
    const first = Math.min(...waitingParts.keys());
    const missing = first - next!;
    const before = out.length;
    drain(first, out);
    out[before]!.missing = missing;
  }

  const isTooLate = (now: number) =>
    waitingParts.size > maxPackets || [...waitingParts.values()].some(({ since }) => now - since > waitMs);

  return {
    push(part, now) {
      const out: OrderedPacket[] = [];
      let sequenceNumber = unwrap(part.sequence);
      if (next !== undefined && Math.abs(sequenceNumber - next) > RESTART_DISTANCE) {
        while (waitingParts.size > 0) skip(out);
        unwrap = createUnwrapper(16);
        sequenceNumber = unwrap(part.sequence);
        next = undefined;
      }
      if (next === undefined) {
        out.push({ ...part, missing: 0 });
        next = sequenceNumber + 1;
        return out;
      }
      if (sequenceNumber < next || waitingParts.has(sequenceNumber)) return out;
      waitingParts.set(sequenceNumber, { part, since: now });
      if (sequenceNumber === next) drain(next, out);
      while (waitingParts.size > 0 && isTooLate(now)) skip(out);
      return out;
    },
    missing() {
      const out: number[] = [];
      if (waitingParts.size === 0) return out;
      for (
        let sequenceNumber = next!, last = Math.max(...waitingParts.keys());
        sequenceNumber < last && out.length < maxPackets;
        sequenceNumber++
      )
        if (!waitingParts.has(sequenceNumber)) out.push(sequenceNumber & 0xffff);
      return out;
    },
  };
}
