import type { RtmpMessage } from "./messages.ts";

const EXTENDED = 0xffffff;
const NOTHING = Buffer.alloc(0);
/** Below this size, copying is cheaper than separate buffers. */
const SMALL = 2048;

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
    const small = length <= SMALL;
    const first = firstOctets(chunkStream, message, head, small ? data.length : 0);
    if (!small) return [first, data];
    data.copy(first, first.length - data.length);
    return [first];
  }
  // Heads have only a few octets; in practice, no chunk size ends within one.
  if (head.length >= chunkSize)
    return encodeMessage(chunkStream, { ...message, data: Buffer.concat([head, data]) }, chunkSize);

  const extended = time >= EXTENDED;
  const next = Buffer.allocUnsafe(extended ? 5 : 1);
  next[0] = 0xc0 | chunkStream;
  // This conforms to 5.3.1.3, and every reader accepts it.
  if (extended) next.writeUInt32BE(time, 1);
  const parts = [firstOctets(chunkStream, message, head, 0), data.subarray(0, chunkSize - head.length)];
  for (let from = chunkSize - head.length; from < data.length; from += chunkSize)
    parts.push(next, data.subarray(from, from + chunkSize));
  return length <= SMALL ? [Buffer.concat(parts)] : parts;
}

/** Returns the header of the first chunk, `head`, and space for `room` more octets. */
function firstOctets(
  chunkStream: number,
  { type, stream, time, data }: RtmpMessage,
  head: Buffer,
  headroom: number,
): Buffer {
  const extended = time >= EXTENDED;
  const size = extended ? 16 : 12;
  const bytes = Buffer.allocUnsafe(size + head.length + headroom);
  bytes[0] = chunkStream;
  u24(bytes, extended ? EXTENDED : time, 1);
  u24(bytes, head.length + data.length, 4);
  bytes[7] = type;
  bytes.writeUInt32LE(stream, 8);
  if (extended) bytes.writeUInt32BE(time, 12);
  for (let i = 0; i < head.length; i++) bytes[size + i] = head[i]!;
  return bytes;
}

function u24(bytes: Buffer, value: number, at: number) {
  bytes[at] = value >>> 16;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value;
}
