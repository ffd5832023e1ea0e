/** Audio format declared by a stream. */
interface AudioFormat {
  sampleRate: number;
  channels: number;
}

/** Sample rates by index (ISO 14496-3, 1.6.3.4). */
const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
/** Channels by channel configuration (1.6.3.5). */
const AAC_CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 0, 8];
const EXPLICIT_RATE = 15;

/**
 * Returns the format in an AudioSpecificConfig (ISO 14496-3, 1.6.2.1); undefined if it is invalid or does not declare
 * its channels.
 */
export function aacFormat(config: Buffer): AudioFormat | undefined {
  if (config.length < 2) return undefined;
  const bits = Buffer.alloc(8);
  config.copy(bits, 0, 0, 8);
  const configBits = bits.readBigUInt64BE(0);
  const read = (at: number, count: number) =>
    Number((configBits >> BigInt(64 - at - count)) & ((1n << BigInt(count)) - 1n));
  // Object types above 30 occupy six more bits.
  const rateOffset = read(0, 5) === 31 ? 11 : 5;
  const index = read(rateOffset, 4);
  const sampleRate = index === EXPLICIT_RATE ? read(rateOffset + 4, 24) : AAC_RATES[index];
  const channels = AAC_CHANNELS[read(rateOffset + (index === EXPLICIT_RATE ? 28 : 4), 4)];
  return sampleRate && channels ? { sampleRate, channels } : undefined;
}

/** Sample rates by version: 1, 2, and 2.5 for the lowest rates. */
const MP3_RATES: Record<number, number[]> = {
  3: [44_100, 48_000, 32_000],
  2: [22_050, 24_000, 16_000],
  0: [11_025, 12_000, 8000],
};
const MONO = 3;

/**
 * Returns the format in an MPEG audio frame header (ISO 11172-3, 2.4.1.3); undefined if the data is not such a header.
 */
export function mp3Format(frame: Buffer): AudioFormat | undefined {
  if (frame.length < 4 || frame.readUInt16BE(0) < 0xffe0) return undefined;
  const sampleRate = MP3_RATES[(frame[1]! >> 3) & 3]?.[(frame[2]! >> 2) & 3];
  return sampleRate === undefined ? undefined : { sampleRate, channels: frame[3]! >> 6 === MONO ? 1 : 2 };
}

/** Returns the format in an OpusHead (RFC 7845, 5.1). Opus always decodes at 48 kHz, regardless of its source. */
export const opusFormat = (head: Buffer): AudioFormat => ({
  sampleRate: 48_000,
  channels: head.length > 9 && head.toString("latin1", 0, 8) === "OpusHead" ? Math.max(1, head[9]!) : 2,
});
