import type { LossRange } from "./packets.ts";
import { sequenceDistance, nextMessage, nextSequence, plusSequence } from "./sequence.ts";

/** Buffers sent packets until they are acknowledged or no longer useful, and resends them on request. */
interface Sender {
  /** Sends at most 1,456 octets, to fit into a datagram of 1,500. */
  send(payload: Buffer, now: number): void;
  tick(now: number): void;
  acknowledged(sequence: number): void;
  /** Resends these packets. */
  missing(ranges: readonly LossRange[], now: number, roundTrip: number): void;
  /** Returns the number of unacknowledged octets, whether sent or not. */
  waiting(): number;
}

interface SenderDeps {
  first: number;
  /** Maximum number of packets in flight: the receiver's window. */
  window: number;
  /** Time after which a packet has become useless. */
  keepMs: number;
  transmit(packet: { sequence: number; message: number; sentAt: number; payload: Buffer; resent: boolean }): void;
  /** Reports that the requested packets no longer exist. */
  dropped(range: LossRange, message: number): void;
}

interface Sent {
  message: number;
  payload: Buffer;
  at: number;
  /** Time of the last transmission. */
  last: number;
}

/**
 * Maximum number of new packets per ten milliseconds: 67 Mbit/s, so that the initial burst does not overrun the
 * receiver's socket.
 */
const BURST_PACKETS = 64;
/** Maximum number of packets examined per NAK; the next NAK requests the others. */
const MAX_INSPECTED = 512;

export function createSender({ first, window, keepMs, transmit, dropped }: SenderDeps): Sender {
  const sentPackets = new Map<number, Sent>();
  const queue: Buffer[] = [];
  let next = first;
  let oldestSequence = first;
  let message = 1;
  let waitingOctets = 0;
  let credit = BURST_PACKETS;

  function push(now: number) {
    while (queue.length > 0 && credit > 0 && sentPackets.size < window) {
      const payload = queue.shift()!;
      credit--;
      const packet: Sent = { message, payload, at: now, last: now };
      const sequence = next;
      sentPackets.set(sequence, packet);
      next = nextSequence(next);
      message = nextMessage(message);
      transmit({ sequence, message: packet.message, sentAt: now, payload, resent: false });
    }
  }

  function forget(sequence: number) {
    for (; sequenceDistance(oldestSequence, sequence) > 0; oldestSequence = nextSequence(oldestSequence)) {
      const packet = sentPackets.get(oldestSequence);
      if (packet === undefined) continue;
      waitingOctets -= packet.payload.length;
      sentPackets.delete(oldestSequence);
    }
  }

  return {
    send(payload, now) {
      waitingOctets += payload.length;
      queue.push(payload);
      push(now);
    },
    tick(now) {
      credit = BURST_PACKETS;
      let lateSequence = oldestSequence;
      while (lateSequence !== next && now - (sentPackets.get(lateSequence)?.at ?? 0) > keepMs)
        lateSequence = nextSequence(lateSequence);
      forget(lateSequence);
      push(now);
    },
    acknowledged(sequence) {
      // The number is beyond those sent, so the packet does not belong to this connection.
      if (sequenceDistance(sequence, next) >= 0) forget(sequence);
    },
    missing(ranges, now, roundTrip) {
      let inspectedCount = 0;
      for (const [from, to] of ranges) {
        const [begin, end] = [
          sequenceDistance(oldestSequence, from) < 0 ? oldestSequence : from,
          sequenceDistance(to, next) > 0 ? to : plusSequence(next, -1),
        ];
        if (sequenceDistance(from, oldestSequence) > 0 && sequenceDistance(from, to) >= 0)
          dropped([from, sequenceDistance(to, oldestSequence) > 0 ? to : plusSequence(oldestSequence, -1)], 0);
        for (let at = begin; sequenceDistance(at, end) >= 0 && inspectedCount < MAX_INSPECTED; at = nextSequence(at)) {
          inspectedCount++;
          const packet = sentPackets.get(at);
          // The packet may already be in transit.
          if (packet === undefined || now - packet.last < roundTrip / 2) continue;
          packet.last = now;
          transmit({ sequence: at, message: packet.message, sentAt: packet.at, payload: packet.payload, resent: true });
        }
      }
    },
    waiting: () => waitingOctets,
  };
}
