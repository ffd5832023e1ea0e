import type { RtmpMessage } from "./messages.ts";

const EXTENDED_TIMESTAMP = 0xffffff;
const NOTHING = Buffer.alloc(0);
/** Below this size, copying is cheaper than separate buffers. */
const SMALL_MESSAGE_BYTES = 2048;

/**
 * Encodes a message as chunks of at most `chunkSize` octets (5.3) with full headers. No chunk depends on earlier
 * messages, so unsent messages can be dropped. Returns buffers to be written in order; large payload is not copied.
 * `chunkStream` is 2 to 63; `head` precedes `data` in the payload.
 */
export function encodeMessage(
  chunkStream: number,
  message: RtmpMessage,
  chunkSize: number,
  head: Buffer = NOTHING,
): Buffer[] {
  const { time, data } = message;
  const length = head.length + data.length;
  // Most messages fit into one chunk, built from as few buffers as possible.
  if (length <= chunkSize) {
    const isSmall = length <= SMALL_MESSAGE_BYTES;
    const first = firstOctets(chunkStream, message, head, isSmall ? data.length : 0);
    if (!isSmall) return [first, data];
    data.copy(first, first.length - data.length);
    return [first];
  }
  // Heads have only a few octets; in practice, no chunk size ends within one.
  if (head.length >= chunkSize)
    return encodeMessage(chunkStream, { ...message, data: Buffer.concat([head, data]) }, chunkSize);

  const isExtended = time >= EXTENDED_TIMESTAMP;
  const next = Buffer.allocUnsafe(isExtended ? 5 : 1);
  next[0] = 0xc0 | chunkStream;
  // This conforms to 5.3.1.3, and every reader accepts it.
  if (isExtended) next.writeUInt32BE(time, 1);
  const parts = [firstOctets(chunkStream, message, head, 0), data.subarray(0, chunkSize - head.length)];
  for (let from = chunkSize - head.length; from < data.length; from += chunkSize)
    parts.push(next, data.subarray(from, from + chunkSize));
  return length <= SMALL_MESSAGE_BYTES ? [Buffer.concat(parts)] : parts;
}

/** Returns the header of the first chunk, `head`, and space for `headroom` more octets. */
function firstOctets(
  chunkStream: number,
  { type, stream, time, data }: RtmpMessage,
  head: Buffer,
  headroom: number,
): Buffer {
  const isExtended = time >= EXTENDED_TIMESTAMP;
  const size = isExtended ? 16 : 12;
  const bytes = Buffer.allocUnsafe(size + head.length + headroom);
  bytes[0] = chunkStream;
  writeU24(bytes, isExtended ? EXTENDED_TIMESTAMP : time, 1);
  writeU24(bytes, head.length + data.length, 4);
  bytes[7] = type;
  bytes.writeUInt32LE(stream, 8);
  if (isExtended) bytes.writeUInt32BE(time, 12);
  for (let i = 0; i < head.length; i++) bytes[size + i] = head[i]!;
  return bytes;
}

function writeU24(bytes: Buffer, value: number, at: number) {
  bytes[at] = value >>> 16;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value;
}
