/**
 * One packet of an elementary stream (ISO 13818-1, 2.4.3.6), usually with one video frame or several audio frames.
 * Times are in units of 1/90,000 s, with 33 bits.
 */
interface Pes {
  pts: number | undefined;
  /** Equals the presentation time if the packet does not contain it. */
  dts: number | undefined;
  data: Buffer;
}

/** Reads a PES packet. Undefined if the data is not a PES packet, or its header is truncated. */
export function readPes(bytes: Buffer): Pes | undefined {
  if (bytes.length < 9 || bytes.readUIntBE(0, 3) !== 1 || (bytes[6]! & 0xc0) !== 0x80) return undefined;
  const start = 9 + bytes[8]!;
  if (start > bytes.length) return undefined;
  const timestampFlags = bytes[7]! >> 6;
  const pts = timestampFlags >= 2 && start >= 14 ? readTime(bytes, 9) : undefined;
  const dts = timestampFlags === 3 && start >= 19 ? readTime(bytes, 14) : pts;
  return { pts, dts, data: bytes.subarray(start) };
}

/**
 * Returns the declared length of a packet, including its first six octets; 0 means that it extends to the start of the
 * next packet. Undefined if there are fewer than six octets.
 */
export function pesSize(bytes: Buffer): number | undefined {
  if (bytes.length < 6) return undefined;
  const length = bytes.readUInt16BE(4);
  return length === 0 ? 0 : length + 6;
}

function readTime(bytes: Buffer, at: number): number {
  return (
    ((bytes[at]! >> 1) & 7) * 2 ** 30 + (bytes.readUInt16BE(at + 1) >> 1) * 2 ** 15 + (bytes.readUInt16BE(at + 3) >> 1)
  );
}

const TIMESTAMP_RANGE = 2 ** 33;

export function writePes(streamId: number, { pts, dts, data }: { pts: number; dts: number; data: Buffer }): Buffer {
  const hasBothTimes = pts !== dts;
  const head = Buffer.alloc(hasBothTimes ? 19 : 14);
  head.writeUIntBE(1, 0, 3);
  head[3] = streamId;
  const length = head.length - 6 + data.length;
  head.writeUInt16BE(length > 0xffff ? 0 : length, 4);
  // data_alignment_indicator: each packet starts with a frame.
  head[6] = 0x84;
  head[7] = hasBothTimes ? 0xc0 : 0x80;
  head[8] = head.length - 9;
  writeTime(head, 9, hasBothTimes ? 3 : 2, pts);
  if (hasBothTimes) writeTime(head, 14, 1, dts);
  return Buffer.concat([head, data]);
}

function writeTime(bytes: Buffer, at: number, prefixBits: number, time: number): void {
  const wrappedTime = ((Math.round(time) % TIMESTAMP_RANGE) + TIMESTAMP_RANGE) % TIMESTAMP_RANGE;
  bytes[at] = (prefixBits << 4) | (Math.floor(wrappedTime / 2 ** 30) << 1) | 1;
  bytes.writeUInt16BE((((Math.floor(wrappedTime / 2 ** 15) & 0x7fff) << 1) | 1) & 0xffff, at + 1);
  bytes.writeUInt16BE((((wrappedTime % 2 ** 15) << 1) | 1) & 0xffff, at + 3);
}

/** Unwraps 33-bit times: each is converted to the value nearest to the previous one. */
export function createTimestampUnwrapper(): (time: number) => number {
  let last: number | undefined;
  return (time) => {
    if (last === undefined) last = time;
    else {
      const forwardDistance = (((time - last) % TIMESTAMP_RANGE) + TIMESTAMP_RANGE) % TIMESTAMP_RANGE;
      last += forwardDistance < TIMESTAMP_RANGE / 2 ? forwardDistance : forwardDistance - TIMESTAMP_RANGE;
    }
    return last;
  };
}
