import { CONTROL, type ControlPacket } from "./packets.ts";

/** Body of a handshake control packet (draft-sharabayko-srt-01, 3.2.1). */
export interface Handshake {
  version: number;
  /** Key length in units of eight octets; 0 if not specified. */
  encryption: number;
  /** In an induction from the listener: the magic number. In a conclusion: the kinds of extensions that follow. */
  extensionField: number;
  sequence: number;
  mtu: number;
  window: number;
  type: number;
  socket: number;
  cookie: number;
  /** Address in sixteen octets. */
  address: Buffer;
  extensions: SrtExtension[];
}

export interface SrtExtension {
  type: number;
  body: Buffer;
}

export const HANDSHAKE_TYPE = { induction: 1, conclusion: 0xffff_ffff } as const;
export const SRT_MAGIC = 0x4a17;
/** Extension types (3.2.1). */
export const EXTENSION = {
  request: 1,
  response: 2,
  keyRequest: 3,
  keyResponse: 4,
  streamId: 5,
  congestion: 6,
  filter: 7,
  group: 8,
} as const;
/** Flags used in `extensionField`. */
export const EXTENSION_FIELD = { handshake: 1, key: 2, config: 4 } as const;
/** Flags for both sides of a live connection (3.2.1.1). */
export const SRT_FLAG = {
  sendsInTime: 1,
  receivesInTime: 2,
  encrypts: 4,
  dropsLate: 8,
  repeatsLosses: 16,
  marksResent: 32,
  stream: 64,
  filters: 128,
} as const;

const FIXED_BYTES = 48;
const MAX_EXTENSIONS = 16;

/** Reads a handshake. Undefined if it is truncated or not a handshake. Truncated extensions are omitted. */
export function readHandshake({ type, body }: ControlPacket): Handshake | undefined {
  if (type !== CONTROL.handshake || body.length < FIXED_BYTES) return undefined;
  const extensions: SrtExtension[] = [];
  for (let at = FIXED_BYTES; at + 4 <= body.length && extensions.length < MAX_EXTENSIONS;) {
    const end = at + 4 + body.readUInt16BE(at + 2) * 4;
    if (end > body.length) break;
    extensions.push({ type: body.readUInt16BE(at), body: body.subarray(at + 4, end) });
    at = end;
  }
  return {
    version: body.readUInt32BE(0),
    encryption: body.readUInt16BE(4),
    extensionField: body.readUInt16BE(6),
    sequence: body.readUInt32BE(8) & 0x7fff_ffff,
    mtu: body.readUInt32BE(12),
    window: body.readUInt32BE(16),
    type: body.readUInt32BE(20),
    socket: body.readUInt32BE(24),
    cookie: body.readUInt32BE(28),
    address: body.subarray(32, FIXED_BYTES),
    extensions,
  };
}

/** Writes a handshake. Extension bodies must consist of whole words. */
export function writeHandshake(handshake: Handshake): Buffer {
  const { version, encryption, extensionField, sequence, mtu, window, type, socket, cookie, address, extensions } =
    handshake;
  const fixedPart = Buffer.alloc(FIXED_BYTES);
  fixedPart.writeUInt32BE(version, 0);
  fixedPart.writeUInt16BE(encryption, 4);
  fixedPart.writeUInt16BE(extensionField, 6);
  for (const [i, word] of [sequence, mtu, window, type, socket, cookie].entries())
    fixedPart.writeUInt32BE(word, 8 + 4 * i);
  address.copy(fixedPart, 32, 0, 16);
  return Buffer.concat([
    fixedPart,
    ...extensions.flatMap(({ type, body }) => {
      const head = Buffer.alloc(4);
      head.writeUInt16BE(type, 0);
      head.writeUInt16BE(body.length / 4, 2);
      return [head, body];
    }),
  ]);
}

/** Extension HSREQ or HSRSP (3.2.1.1): the version has the form 0x010500, delays are in milliseconds. */
export interface SrtCapabilities {
  version: number;
  flags: number;
  receiverDelay: number;
  senderDelay: number;
}

export function readCapabilities(body: Buffer): SrtCapabilities | undefined {
  if (body.length < 12) return undefined;
  return {
    version: body.readUInt32BE(0),
    flags: body.readUInt32BE(4),
    receiverDelay: body.readUInt16BE(8),
    senderDelay: body.readUInt16BE(10),
  };
}

export function writeCapabilities({ version, flags, receiverDelay, senderDelay }: SrtCapabilities): Buffer {
  const body = Buffer.alloc(12);
  body.writeUInt32BE(version, 0);
  body.writeUInt32BE(flags, 4);
  body.writeUInt16BE(receiverDelay, 8);
  body.writeUInt16BE(senderDelay, 10);
  return body;
}

/** Reads text in words with reversed octets, padded with zeros (3.2.1.3). */
export function readPaddedText(body: Buffer): string {
  const text = Buffer.from(body.subarray(0, body.length & ~3)).swap32();
  const end = text.indexOf(0);
  return text.toString("utf8", 0, end === -1 ? text.length : end);
}

export function writeText(text: string): Buffer {
  const octets = Buffer.from(text);
  const body = Buffer.alloc(Math.ceil(octets.length / 4) * 4);
  octets.copy(body);
  return body.swap32();
}
