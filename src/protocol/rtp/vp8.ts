/** VP8 in RTP (RFC 7741): one frame as several payloads, each with its own descriptor. */
const EXTENDED_FLAG = 0x80;
const START_FLAG = 0x10;
const PARTITION = 0x07;
const HAS_PICTURE_ID = 0x80;
const HAS_TL0PICIDX = 0x40;
const HAS_TID_OR_KEYIDX = 0x30;
const LONG_PICTURE = 0x80;

/** Packs a frame into payloads. `picture` is the frame number, by which a receiver detects missing frames. */
export function packVp8(frame: Buffer, maxOctets: number, picture: number): Buffer[] {
  const payloads: Buffer[] = [];
  const payloadLimit = maxOctets - 4;
  const size = Math.ceil(frame.length / Math.max(1, Math.ceil(frame.length / payloadLimit)));
  for (let at = 0; at < frame.length; at += size) {
    const piece = frame.subarray(at, at + size);
    const head = Buffer.from([
      EXTENDED_FLAG | (at === 0 ? START_FLAG : 0),
      HAS_PICTURE_ID,
      LONG_PICTURE | ((picture >> 8) & 127),
      picture & 255,
    ]);
    payloads.push(Buffer.concat([head, piece]));
  }
  return payloads;
}

/** Returns the frame, and whether its beginning is present and every payload is valid VP8. */
export function unpackVp8(payloads: readonly Buffer[]): { frame: Buffer; whole: boolean } {
  const pieces: Buffer[] = [];
  let isWhole = payloads.length > 0;
  for (const [index, payload] of payloads.entries()) {
    const at = payloadOffset(payload);
    if (at >= payload.length) {
      isWhole = false;
      continue;
    }
    const isFrameStart = (payload[0]! & START_FLAG) !== 0 && (payload[0]! & PARTITION) === 0;
    if (isFrameStart !== (index === 0)) isWhole = false;
    pieces.push(payload.subarray(at));
  }
  return { frame: Buffer.concat(pieces), whole: isWhole };
}

/** Returns the offset after the payload descriptor (4.2). */
function payloadOffset(payload: Buffer): number {
  if (payload.length < 1 || (payload[0]! & EXTENDED_FLAG) === 0) return 1;
  const more = payload[1] ?? 0;
  let at = 2;
  if ((more & HAS_PICTURE_ID) !== 0) at += (payload[at] ?? 0) & LONG_PICTURE ? 2 : 1;
  if ((more & HAS_TL0PICIDX) !== 0) at++;
  if ((more & HAS_TID_OR_KEYIDX) !== 0) at++;
  return at;
}

/** Returns the size of a key frame in pixels (RFC 6386, 9.1). Undefined for other frames. */
export function readVp8KeyFrameSize(frame: Buffer): { width: number; height: number } | undefined {
  if (frame.length < 10 || (frame[0]! & 1) !== 0) return undefined;
  if (frame[3] !== 0x9d || frame[4] !== 0x01 || frame[5] !== 0x2a) return undefined;
  // The upper two bits are the scaling mode.
  return { width: frame.readUInt16LE(6) & 0x3fff, height: frame.readUInt16LE(8) & 0x3fff };
}
