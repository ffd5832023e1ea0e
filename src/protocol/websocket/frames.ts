import { CLOSE, WebSocketViolation } from "./violation.ts";

/** Frame opcodes (RFC 6455 5.2). */
export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;
const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODE));

export interface Frame {
  fin: boolean;
  opcode: number;
  /** True if the frame was masked; `payload` is always unmasked. */
  masked: boolean;
  payload: Buffer;
}

interface FrameReader {
  /** Yields the complete frames lazily. Throws WebSocketViolation, after which reading stops. */
  push(chunk: Uint8Array): Iterable<Frame>;
}

interface Head {
  fin: boolean;
  opcode: number;
  masked: boolean;
  /** Size of the header in octets, including the masking key. */
  size: number;
  length: number;
}

/**
 * Splits a byte stream into frames. Buffers at most one incomplete frame, never more than `maxPayload` octets plus a
 * header.
 */
export function createFrameReader({ maxPayload }: { maxPayload: number }): FrameReader {
  let chunks: Buffer[] = [];
  let size = 0;
  /** Number of octets needed before parsing again. */
  let needed = 2;

  /** Returns the first frame, or undefined if it is incomplete. */
  function next(): Frame | undefined {
    if (size < needed) return undefined;
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    chunks = [bytes];
    const headSize = headSizeOf(bytes);
    const head = size < headSize ? undefined : readHead(bytes, headSize, maxPayload);
    needed = headSize + (head?.length ?? 0);
    if (head === undefined || size < needed) return undefined;
    const payload = Buffer.from(bytes.subarray(head.size, needed));
    if (head.masked) unmask(payload, bytes.subarray(head.size - 4, head.size));
    const rest = bytes.subarray(needed);
    chunks = rest.length === 0 ? [] : [rest];
    size = rest.length;
    needed = 2;
    return { fin: head.fin, opcode: head.opcode, masked: head.masked, payload };
  }

  return {
    *push(chunk) {
      if (chunk.length > 0) chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      size += chunk.length;
      for (let frame = next(); frame !== undefined; frame = next()) yield frame;
    },
  };
}

function headSizeOf(bytes: Buffer): number {
  const length = bytes[1]! & 0x7f;
  return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + ((bytes[1]! & 0x80) === 0 ? 0 : 4);
}

function readHead(bytes: Buffer, size: number, maxPayload: number): Head {
  const [first, second] = bytes as unknown as [number, number];
  const head = {
    fin: (first & 0x80) !== 0,
    opcode: first & 0x0f,
    masked: (second & 0x80) !== 0,
    size,
    length: lengthOf(bytes),
  };
  // These bits belong to extensions, none of which have been negotiated (5.2).
  if ((first & 0x70) !== 0)
    throw new WebSocketViolation(CLOSE.protocolError, "a reserved bit is set, and no extension was agreed on");
  if (!KNOWN.has(head.opcode)) throw new WebSocketViolation(CLOSE.protocolError, `opcode ${head.opcode} is reserved`);
  // Control frames are not fragmented and have a short payload (5.5).
  if (head.opcode >= OPCODE.close && (!head.fin || head.length > 125))
    throw new WebSocketViolation(CLOSE.protocolError, "a control frame is in fragments or longer than 125 octets");
  if (head.length > maxPayload) throw new WebSocketViolation(CLOSE.tooBig, `a frame may have ${maxPayload} octets`);
  return head;
}

/** Enforces "the minimal number of bytes MUST be used to encode the length" (5.2). */
function lengthOf(bytes: Buffer): number {
  const short = bytes[1]! & 0x7f;
  if (short < 126) return short;
  const length = short === 126 ? BigInt(bytes.readUInt16BE(2)) : bytes.readBigUInt64BE(2);
  if (length < (short === 126 ? 126n : 65_536n) || length >= 1n << 63n)
    throw new WebSocketViolation(CLOSE.protocolError, "a length is not encoded as it must be");
  return Number(length);
}

/** Unmasks the payload in place (RFC 6455 5.3). */
function unmask(payload: Buffer, key: Buffer): void {
  for (let i = 0; i < payload.length; i++) payload[i]! ^= key[i & 3]!;
}

/** Encodes one frame. Servers never mask frames (5.1); `mask` is for clients. */
export function encodeFrame(
  opcode: number,
  payload: Uint8Array,
  { fin = true, mask }: { fin?: boolean; mask?: Uint8Array } = {},
): Buffer {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + extra + (mask === undefined ? 0 : 4);
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = (fin ? 0x80 : 0) | opcode;
  frame[1] = (mask === undefined ? 0 : 0x80) | (extra === 0 ? length : extra === 2 ? 126 : 127);
  if (extra === 2) frame.writeUInt16BE(length, 2);
  else if (extra === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(payload, start);
  if (mask !== undefined) {
    frame.set(mask, start - 4);
    unmask(frame.subarray(start), frame.subarray(start - 4, start));
  }
  return frame;
}

/** Encodes a close frame, truncating the reason to the size of a control frame (5.5.1). */
export function encodeClose(code: number, reason = ""): Buffer {
  const text = Buffer.from(reason);
  // Truncates between characters: octets 10xxxxxx continue the previous one.
  let end = Math.min(text.length, 123);
  while (end < text.length && (text[end]! & 0xc0) === 0x80) end--;
  const payload = Buffer.allocUnsafe(2 + end);
  payload.writeUInt16BE(code);
  text.copy(payload, 2, 0, end);
  return encodeFrame(OPCODE.close, payload);
}
