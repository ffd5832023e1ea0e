import type { SrtKeys } from "./keys.ts";
import {
  CONTROL,
  type ControlPacket,
  type DataPacket,
  readLosses,
  writeControl,
  writeDataPacket,
  writeLosses,
} from "./packets.ts";
import { createSrtReceiver } from "./receiver.ts";
import { EXTENSION } from "./handshake.ts";
import { createSender } from "./sender.ts";

/** The connection of one accepted caller. */
export interface SrtConnection {
  readonly address: string;
  /** Sends at most 1,456 octets, to fit into a datagram of 1,500. Ignored after the end. */
  send(payload: Buffer): void;
  /** Returns octets sent but not yet acknowledged. */
  waiting(): number;
  /** Closes the connection and notifies the peer immediately. `ended` is not called. */
  close(): void;
  /** Ends the output: closes the connection once everything has arrived and the peer's latency has passed. */
  finish(): void;
}

export interface SrtHandlers {
  /** Receives data in order; gaps are reported by `lost` first. */
  data(payload: Buffer): void;
  lost(packets: number): void;
  /**
   * Called once. `clean`: the peer closed the connection; otherwise it was silent for five seconds, or the listener was
   * closed.
   */
  ended(clean: boolean): void;
}

interface ConnectionDeps {
  address: string;
  /** Socket id of the peer. */
  peer: number;
  /** First sequence number in both directions. */
  sequence: number;
  window: number;
  latencyMs: number;
  marksResent: boolean;
  keys: SrtKeys | undefined;
  /** Returns the time in milliseconds of a monotonic clock. */
  now: () => number;
  transmit(bytes: Buffer): void;
  /** Called when the connection has ended on either side. */
  onClose(): void;
  /** Called when an unexpected error in the connection or its handlers has ended this connection. */
  onError(err: unknown): void;
}

export interface OpenConnection extends SrtConnection {
  attach(handlers: SrtHandlers): void;
  handle(packet: DataPacket | ControlPacket): void;
  tick(): void;
  /** Like `close`, but calls `ended`. */
  shutDown(): void;
}

const SILENCE_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_INTERVAL_MS = 1_000;
/** Interval for repeating an unacknowledged acknowledgement. */
const ACK_REPEAT_MS = 100;
const MAX_ACKS = 64;
/** Additional milliseconds for work that is done at ticks. */
const TICKS = 20;
/** Number of words in a full acknowledgement (3.2.4). */
const ACK_WORDS = 7;

/** Returns the time after which unacknowledged data has become useless. */
const retentionMsOf = (latencyMs: number) => Math.max(1000, latencyMs * 1.25) + 20;

export function createSrtConnection({
  address,
  peer,
  sequence,
  window,
  latencyMs,
  marksResent,
  keys,
  now,
  transmit,
  onClose,
  onError,
}: ConnectionDeps): OpenConnection {
  const beganAt = now();
  let handlers: SrtHandlers | undefined;
  let isOver = false;
  let lastReceivedAt = beganAt;
  let lastSentAt = beganAt;
  let roundTrip = 100;
  let variance = 50;
  let ackNumber = 0;
  let ackedSequence = sequence;
  let ackedAt = 0;
  let isConfirmed = true;
  let finishingSince: number | undefined;
  const acks = new Map<number, number>();
  let rate = { at: beganAt, packets: 0, octets: 0, perSecond: 0, octetsPerSecond: 0 };

  const stamp = (at = now()) => Math.floor((at - beganAt) * 1000) % 2 ** 32;

  function control(type: number, rest: Partial<ControlPacket> = {}) {
    lastSentAt = now();
    transmit(writeControl({ ...rest, type, timestamp: stamp(lastSentAt), to: peer }));
  }

  const receiver = createSrtReceiver({
    first: sequence,
    latencyMs,
    // If a handler closes the connection while several packets are being delivered, it receives none of the remaining
    // ones.
    deliver: (payload) => isOver || handlers?.data(payload),
    lost: (packets) => isOver || handlers?.lost(packets),
    ask: (ranges) => control(CONTROL.nak, { body: writeLosses(ranges) }),
  });
  const sender = createSender({
    first: sequence,
    window,
    keepMs: retentionMsOf(latencyMs),
    transmit({ sequence, message, sentAt, payload, resent }) {
      const encryptedPayload = keys === undefined ? payload : keys.crypt(keys.name, sequence, payload);
      if (encryptedPayload === undefined) return;
      lastSentAt = now();
      transmit(
        writeDataPacket({
          sequence,
          key: keys?.name ?? "none",
          resent: resent && marksResent,
          message,
          timestamp: stamp(sentAt),
          to: peer,
          payload: encryptedPayload,
        }),
      );
    },
    dropped([first, last], message) {
      const body = Buffer.alloc(8);
      body.writeUInt32BE(first, 0);
      body.writeUInt32BE(last, 4);
      control(CONTROL.dropRequest, { info: message, body });
    },
  });

  function end(clean: boolean | undefined) {
    if (isOver) return;
    if (clean !== undefined) receiver.flush();
    if (isOver) return;
    isOver = true;
    onClose();
    if (clean !== undefined) handlers?.ended(clean);
  }

  /**
   * This code runs from timers and socket events: an error must end only this connection, not others or the process.
   */
  function runGuarded(work: () => void) {
    try {
      work();
    } catch (err) {
      onError(err);
      abort();
    }
  }

  /** Discards the buffered data, which may be the cause of the error. */
  function abort() {
    if (isOver) return;
    isOver = true;
    onClose();
    try {
      handlers?.ended(false);
      control(CONTROL.shutdown, { body: Buffer.alloc(4) });
    } catch (err) {
      onError(err);
    }
  }

  function isFinished(at: number): boolean {
    if (finishingSince === undefined) return false;
    const since = at - finishingSince;
    return since >= latencyMs + roundTrip + 2 * TICKS && (sender.waiting() === 0 || since >= retentionMsOf(latencyMs));
  }

  function leave(notify: false | undefined) {
    if (isOver) return;
    control(CONTROL.shutdown, { body: Buffer.alloc(4) });
    end(notify);
  }

  function handleData({ key, sequence, payload }: DataPacket, at: number) {
    if (keys === undefined && key !== "none") return;
    // A caller that must encrypt but sends plain text does not have the passphrase.
    const plainPayload = keys === undefined ? payload : key === "none" ? undefined : keys.crypt(key, sequence, payload);
    if (plainPayload !== undefined) receiver.take(sequence, plainPayload, at);
  }

  function acknowledge(at: number) {
    const expected = receiver.expected();
    if (expected === ackedSequence && (isConfirmed || at - ackedAt < ACK_REPEAT_MS)) return;
    measure(at);
    ackedSequence = expected;
    ackedAt = at;
    isConfirmed = false;
    ackNumber = (ackNumber + 1) % 2 ** 31;
    acks.set(ackNumber, at);
    if (acks.size > MAX_ACKS) acks.delete(acks.keys().next().value!);
    const body = Buffer.alloc(ACK_WORDS * 4);
    const words = [
      expected,
      roundTrip * 1000,
      variance * 1000,
      receiver.freePackets(),
      rate.perSecond,
      rate.perSecond,
      rate.octetsPerSecond,
    ];
    for (const [i, word] of words.entries()) body.writeUInt32BE(Math.min(2 ** 31 - 1, Math.round(word)), i * 4);
    control(CONTROL.ack, { info: ackNumber, body });
  }

  function measure(at: number) {
    const seconds = (at - rate.at) / 1000;
    if (seconds < 1) return;
    const { packets, octets } = receiver.came();
    rate = {
      at,
      packets,
      octets,
      perSecond: (packets - rate.packets) / seconds,
      octetsPerSecond: (octets - rate.octets) / seconds,
    };
  }

  function confirm(number: number, at: number) {
    const sentAt = acks.get(number);
    if (sentAt === undefined) return;
    acks.delete(number);
    if (number === ackNumber) isConfirmed = true;
    const sample = Math.max(0.01, at - sentAt);
    variance = (variance * 3 + Math.abs(sample - roundTrip)) / 4;
    roundTrip = (roundTrip * 7 + sample) / 8;
  }

  function handleAck({ info, body }: ControlPacket) {
    if (body.length < 4) return;
    sender.acknowledged(body.readUInt32BE(0) & 0x7fff_ffff);
    // Light acknowledgements, which contain only the packet number, are not acknowledged (3.2.4).
    if (body.length < 16) return;
    const peerVarianceMs = body.readUInt32BE(4) / 1000;
    if (peerVarianceMs > 0 && peerVarianceMs < 60_000)
      [roundTrip, variance] = [peerVarianceMs, body.readUInt32BE(8) / 1000];
    control(CONTROL.ackAck, { info });
  }

  /** Accepts new keys during a connection (section 6); the old ones remain valid for packets in transit. */
  function handleKeys(message: Buffer) {
    if (keys?.refresh(message) === true) control(CONTROL.user, { subtype: EXTENSION.keyResponse, body: message });
  }

  function handleControl(packet: ControlPacket, at: number) {
    switch (packet.type) {
      case CONTROL.ack:
        return handleAck(packet);
      case CONTROL.nak:
        return sender.missing(readLosses(packet.body), at, roundTrip);
      case CONTROL.ackAck:
        return confirm(packet.info, at);
      case CONTROL.dropRequest:
        if (packet.body.length >= 8)
          receiver.giveUp([packet.body.readUInt32BE(0) & 0x7fff_ffff, packet.body.readUInt32BE(4) & 0x7fff_ffff]);
        return;
      case CONTROL.user:
        if (packet.subtype === EXTENSION.keyRequest) handleKeys(packet.body);
        return;
      case CONTROL.shutdown:
        return end(true);
    }
  }

  function handle(packet: DataPacket | ControlPacket) {
    if (isOver) return;
    const at = now();
    lastReceivedAt = at;
    if (packet.kind === "data") handleData(packet, at);
    else handleControl(packet, at);
  }

  function tick() {
    const at = now();
    if (at - lastReceivedAt >= SILENCE_TIMEOUT_MS) return end(false);
    receiver.tick(at, roundTrip + 4 * variance);
    if (isOver) return;
    acknowledge(at);
    sender.tick(at);
    if (isFinished(at)) return leave(undefined);
    if (at - lastSentAt >= KEEP_ALIVE_INTERVAL_MS) control(CONTROL.keepAlive);
  }

  return {
    address,
    attach: (given) => void (handlers = given),
    handle: (packet) => runGuarded(() => handle(packet)),
    tick: () => runGuarded(tick),
    send(payload) {
      if (!isOver && finishingSince === undefined) sender.send(payload, now());
    },
    waiting: () => sender.waiting(),
    close: () => leave(undefined),
    finish: () => void (finishingSince ??= now()),
    shutDown: () => runGuarded(() => leave(false)),
  };
}
