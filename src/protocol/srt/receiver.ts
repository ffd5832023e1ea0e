import { SRT_HEADER_OCTETS, type LossRange } from "./packets.ts";
import { sequenceDistance, nextSequence, plusSequence } from "./sequence.ts";

/** Restores the sending order: missing packets are requested again, and skipped after the negotiated latency. */
interface Receiver {
  take(sequence: number, payload: Buffer, now: number): void;
  /** Must be called regularly; `roundTrip` is in milliseconds. */
  tick(now: number, roundTrip: number): void;
  /** Called if the sender will not send (or resend) these packets. */
  giveUp(range: LossRange): void;
  /** Delivers all received packets and skips missing ones. */
  flush(): void;
  /** First missing packet number, which is the acknowledgement number. */
  expected(): number;
  /** Returns the number of free packet slots. */
  freePackets(): number;
  /** Returns the number of octets and packets received, including retransmissions. */
  came(): { packets: number; octets: number };
}

interface ReceiverDeps {
  first: number;
  latencyMs: number;
  deliver(payload: Buffer): void;
  /** Reports the number of skipped packets. */
  lost(packets: number): void;
  ask(ranges: LossRange[]): void;
}

/** Maximum number of buffered packets: 12 MiB at the maximum packet size. */
export const WINDOW = 8192;
/** Minimum milliseconds between two requests for the same packet. */
const REQUEST_INTERVAL_MS = 20;

export function createSrtReceiver({ first, latencyMs, deliver, lost, ask }: ReceiverDeps): Receiver {
  const heldPackets = new Map<number, { payload: Buffer; at: number }>();
  let expectedSequence = first;
  /** One after the number of the last packet received. */
  let end = first;
  let requestedAt = 0;
  let packets = 0;
  let receivedOctets = 0;

  function drain() {
    for (let next = heldPackets.get(expectedSequence); next !== undefined; next = heldPackets.get(expectedSequence)) {
      heldPackets.delete(expectedSequence);
      expectedSequence = nextSequence(expectedSequence);
      deliver(next.payload);
    }
  }

  function skipTo(sequence: number) {
    const missing = sequenceDistance(expectedSequence, sequence);
    if (missing <= 0) return;
    expectedSequence = sequence;
    lost(missing);
    drain();
  }

  /** Returns the ranges missing before a received packet. */
  function findGaps(): LossRange[] {
    const ranges: LossRange[] = [];
    for (let at = expectedSequence; at !== end;) {
      if (heldPackets.has(at)) {
        at = nextSequence(at);
        continue;
      }
      const from = at;
      while (at !== end && !heldPackets.has(at)) at = nextSequence(at);
      ranges.push([from, plusSequence(at, -1)]);
    }
    return ranges;
  }

  function firstHeld(): { sequence: number; at: number } | undefined {
    for (let at = expectedSequence; at !== end; at = nextSequence(at)) {
      const foundPacket = heldPackets.get(at);
      if (foundPacket !== undefined) return { sequence: at, at: foundPacket.at };
    }
    return undefined;
  }

  function flush() {
    for (let next = firstHeld(); next !== undefined; next = firstHeld()) skipTo(next.sequence);
  }

  return {
    take(sequence, payload, now) {
      packets++;
      receivedOctets += payload.length + SRT_HEADER_OCTETS;
      const ahead = sequenceDistance(expectedSequence, sequence);
      if (ahead < 0 || heldPackets.has(sequence)) return;
      // Beyond the window: the sender has long dropped everything in between.
      if (ahead >= WINDOW) {
        flush();
        skipTo(sequence);
        end = sequence;
      }
      if (sequence === expectedSequence) {
        expectedSequence = nextSequence(expectedSequence);
        if (sequenceDistance(end, expectedSequence) > 0) end = expectedSequence;
        deliver(payload);
        drain();
        return;
      }
      heldPackets.set(sequence, { payload, at: now });
      const before = end;
      if (sequenceDistance(end, sequence) < 0) return;
      end = nextSequence(sequence);
      if (sequenceDistance(before, sequence) > 0) ask([[before, plusSequence(sequence, -1)]]);
    },
    tick(now, roundTrip) {
      if (heldPackets.size === 0) return;
      for (let next = firstHeld(); next !== undefined && now - next.at >= latencyMs; next = firstHeld())
        skipTo(next.sequence);
      if (heldPackets.size === 0 || now - requestedAt < Math.max(REQUEST_INTERVAL_MS, roundTrip)) return;
      requestedAt = now;
      ask(findGaps());
    },
    giveUp([from, to]) {
      // Only applies to a gap at the front: later ones are skipped when they are due.
      if (
        sequenceDistance(expectedSequence, from) > 0 ||
        sequenceDistance(expectedSequence, to) < 0 ||
        sequenceDistance(to, end) <= 0
      )
        return;
      // Received packets within the range are delivered in order.
      for (let next = firstHeld(); next !== undefined && sequenceDistance(next.sequence, to) >= 0; next = firstHeld())
        skipTo(next.sequence);
      skipTo(nextSequence(to));
    },
    flush,
    expected: () => expectedSequence,
    freePackets: () => Math.max(0, WINDOW - heldPackets.size),
    came: () => ({ packets, octets: receivedOctets }),
  };
}
