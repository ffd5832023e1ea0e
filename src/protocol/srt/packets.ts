/**
 * Header size in the SRT wire format (draft-sharabayko-srt-01, section 3), where the payload follows a header of
 * sixteen octets.
 */
export const SRT_HEADER_OCTETS = 16;
/** Maximum size of a UDP datagram over Ethernet; larger datagrams are not sent. */
export const MAX_DATAGRAM_OCTETS = 1500;

export interface DataPacket {
  kind: "data";
  sequence: number;
  /** Encryption key (the KK field). */
  key: SrtKeyName;
  resent: boolean;
  message: number;
  /** Microseconds since the connection started, modulo 2^32. */
  timestamp: number;
  /** Socket id of the receiver. */
  to: number;
  payload: Buffer;
}

export type SrtKeyName = "none" | "even" | "odd";

export interface ControlPacket {
  kind: "control";
  type: number;
  subtype: number;
  /** The "type-specific information" field. */
  info: number;
  timestamp: number;
  to: number;
  body: Buffer;
}

/** Control packet types (3.2). */
export const CONTROL = {
  handshake: 0,
  keepAlive: 1,
  ack: 2,
  nak: 3,
  shutdown: 5,
  ackAck: 6,
  dropRequest: 7,
  peerError: 8,
  user: 0x7fff,
} as const;

const KEYS: readonly (SrtKeyName | undefined)[] = ["none", "even", "odd", undefined];

/** Reads a packet. Undefined if it is not an SRT packet. The fields are views of `bytes`. */
export function readPacket(bytes: Buffer): DataPacket | ControlPacket | undefined {
  if (bytes.length < SRT_HEADER_OCTETS || bytes.length > MAX_DATAGRAM_OCTETS) return undefined;
  const first = bytes.readUInt32BE(0);
  const second = bytes.readUInt32BE(4);
  const timestamp = bytes.readUInt32BE(8);
  const to = bytes.readUInt32BE(12);
  if (first >= 0x8000_0000)
    return {
      kind: "control",
      type: (first >>> 16) & 0x7fff,
      subtype: first & 0xffff,
      info: second,
      timestamp,
      to,
      body: bytes.subarray(SRT_HEADER_OCTETS),
    };
  const key = KEYS[(second >>> 27) & 3];
  // Both key bits set indicate a control packet (3.1). Live mode has no messages of several packets.
  if (key === undefined || second >>> 30 !== 3) return undefined;
  return {
    kind: "data",
    sequence: first,
    key,
    resent: (second & 0x0400_0000) !== 0,
    message: second & 0x03ff_ffff,
    timestamp,
    to,
    payload: bytes.subarray(SRT_HEADER_OCTETS),
  };
}

export function writeDataPacket({
  sequence,
  key,
  resent,
  message,
  timestamp,
  to,
  payload,
}: Omit<DataPacket, "kind">): Buffer {
  const bytes = Buffer.allocUnsafe(SRT_HEADER_OCTETS + payload.length);
  bytes.writeUInt32BE(sequence, 0);
  bytes.writeUInt32BE(((3 << 30) | (KEYS.indexOf(key) << 27) | (resent ? 1 << 26 : 0) | message) >>> 0, 4);
  bytes.writeUInt32BE(timestamp >>> 0, 8);
  bytes.writeUInt32BE(to, 12);
  payload.copy(bytes, SRT_HEADER_OCTETS);
  return bytes;
}

export function writeControl({
  type,
  subtype = 0,
  info = 0,
  timestamp,
  to,
  body = EMPTY,
}: Pick<ControlPacket, "type" | "timestamp" | "to"> & Partial<ControlPacket>): Buffer {
  const bytes = Buffer.allocUnsafe(SRT_HEADER_OCTETS + body.length);
  bytes.writeUInt32BE((0x8000_0000 | (type << 16) | subtype) >>> 0, 0);
  bytes.writeUInt32BE(info >>> 0, 4);
  bytes.writeUInt32BE(timestamp >>> 0, 8);
  bytes.writeUInt32BE(to, 12);
  body.copy(bytes, SRT_HEADER_OCTETS);
  return bytes;
}

const EMPTY = Buffer.alloc(0);
/** Maximum number of words in one NAK; the rest goes into the next one. */
const MAX_WORDS = 360;

/** Lost packets as ranges, both ends inclusive (appendix A). */
export type LossRange = readonly [first: number, last: number];

export function writeLosses(ranges: readonly LossRange[]): Buffer {
  const words = ranges
    .slice(0, MAX_WORDS / 2)
    .flatMap(([first, last]) => (first === last ? [first] : [(first | 0x8000_0000) >>> 0, last]));
  const body = Buffer.allocUnsafe(words.length * 4);
  for (const [i, word] of words.entries()) body.writeUInt32BE(word, i * 4);
  return body;
}

export function readLosses(body: Buffer): LossRange[] {
  const ranges: LossRange[] = [];
  for (let at = 0; at + 4 <= body.length; at += 4) {
    const word = body.readUInt32BE(at);
    const first = word & 0x7fff_ffff;
    if (word < 0x8000_0000) {
      ranges.push([first, first]);
      continue;
    }
    at += 4;
    if (at + 4 <= body.length) ranges.push([first, body.readUInt32BE(at) & 0x7fff_ffff]);
  }
  return ranges;
}
