import type { RtmpMessage } from "./messages.ts";

const EXTENDED = 0xffffff;
const NOTHING = Buffer.alloc(0);
/** What is so small costs less copied than handed over in pieces. */
const SMALL = 2048;

/**
 * One message as chunks of at most `chunkSize` octets (5.3), each with all that is to be said of it: nothing depends on what was sent before, so what could
 * not be sent may be left out. In pieces, to be written one after the other: large payload is not copied. `chunkStream` is one of 2 to 63; `head` is what
 * the payload begins with, before `data`.
 */
export function encodeMessage(
  chunkStream: number,
  message: RtmpMessage,
  chunkSize: number,
  head: Buffer = NOTHING,
): Buffer[] {
  const { time, data } = message;
  const length = head.length + data.length;
  // Most are one chunk, made with as few buffers as can be.
  if (length <= chunkSize) {
    const small = length <= SMALL;
    const first = firstOctets(chunkStream, message, head, small ? data.length : 0);
    if (!small) return [first, data];
    data.copy(first, first.length - data.length);
    return [first];
  }
  // Heads have some octets; a chunk that ends inside of one is no chunk that anybody asks for.
  if (head.length >= chunkSize)
    return encodeMessage(chunkStream, { ...message, data: Buffer.concat([head, data]) }, chunkSize);

  const extended = time >= EXTENDED;
  const next = Buffer.allocUnsafe(extended ? 5 : 1);
  next[0] = 0xc0 | chunkStream;
  // What 5.3.1.3 says, and what all readers take.
  if (extended) next.writeUInt32BE(time, 1);
  const parts = [firstOctets(chunkStream, message, head, 0), data.subarray(0, chunkSize - head.length)];
  for (let from = chunkSize - head.length; from < data.length; from += chunkSize)
    parts.push(next, data.subarray(from, from + chunkSize));
  return length <= SMALL ? [Buffer.concat(parts)] : parts;
}

/** The header of the first chunk, `head`, and `room` octets for more. */
function firstOctets(
  chunkStream: number,
  { type, stream, time, data }: RtmpMessage,
  head: Buffer,
  room: number,
): Buffer {
  const extended = time >= EXTENDED;
  const size = extended ? 16 : 12;
  const bytes = Buffer.allocUnsafe(size + head.length + room);
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
