import { type BitReader, createBitReader } from "../h264/bits.ts";

/** Size of the av1C fields that precede configOBUs (AV1-ISOBMFF, 2.3.3). */
const FIXED_BYTES = 4;
/** obu_type of a sequence header (AV1, 6.2.2). */
const SEQUENCE_HEADER = 1;
const MAX_SIDE = 16_384;

/**
 * Returns the largest frame size, in pixels, in the sequence header of a decoder configuration record (av1C). Undefined
 * without a sequence header. Throws H264Error if it is malformed.
 */
export function readAv1Size(record: Buffer): { width: number; height: number } | undefined {
  for (let at = FIXED_BYTES; at < record.length;) {
    const head = record[at]!;
    at += (head & 4) === 0 ? 1 : 2;
    const size = (head & 2) === 0 ? { value: record.length - at, length: 0 } : readLeb128(record, at);
    at += size.length;
    if (((head >> 3) & 15) === SEQUENCE_HEADER) return readSize(createBitReader(record.subarray(at, at + size.value)));
    at += size.value;
  }
  return undefined;
}

/** Reads a leb128 value (AV1, 4.10.5): at most eight bytes with seven bits each. */
function readLeb128(bytes: Buffer, at: number): { value: number; length: number } {
  let value = 0;
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i] ?? 0;
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return { value, length: i + 1 };
  }
  return { value, length: 8 };
}

/** Reads sequence_header_obu up to the frame size (AV1, 5.5.1). */
function readSize(bits: BitReader): { width: number; height: number } | undefined {
  bits.bits(4);
  const isReduced = bits.flag();
  if (isReduced) bits.bits(5);
  else skipOperatingPoints(bits);
  const [widthBits, heightBits] = [bits.bits(4) + 1, bits.bits(4) + 1];
  const [width, height] = [bits.bits(widthBits) + 1, bits.bits(heightBits) + 1];
  return width > MAX_SIDE || height > MAX_SIDE ? undefined : { width, height };
}

function skipOperatingPoints(bits: BitReader): void {
  const delayBits = bits.flag() ? skipTiming(bits) : undefined;
  const displayDelay = bits.flag();
  const pointCount = bits.bits(5) + 1;
  for (let i = 0; i < pointCount; i++) {
    bits.bits(12);
    // seq_tier is present from level 4.0.
    if (bits.bits(5) > 7) bits.flag();
    if (delayBits !== undefined && bits.flag()) {
      bits.bits(delayBits);
      bits.bits(delayBits);
      bits.flag();
    }
    if (displayDelay && bits.flag()) bits.bits(4);
  }
}

/**
 * Skips timing_info and decoder_model_info (5.5.3, 5.5.4). Returns the bit length of buffer delays; undefined without a
 * decoder model.
 */
function skipTiming(bits: BitReader): number | undefined {
  bits.bits(32);
  bits.bits(32);
  // uvlc (4.10.3) is coded like ue(v).
  if (bits.flag()) bits.ue();
  if (!bits.flag()) return undefined;
  const delayBits = bits.bits(5) + 1;
  bits.bits(32);
  bits.bits(5);
  bits.bits(5);
  return delayBits;
}
