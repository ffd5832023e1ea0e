import { createAudioFrameReader, type Timed } from "./audio-frames.ts";

/** A frame of AAC in a transport stream, where each frame has a header that describes it (ISO 14496-3, 1.A.2.2). */
export interface AdtsFrame {
  /** Frame without its header. */
  data: Buffer;
  /** AudioSpecificConfig (1.6.2.1), two octets. */
  config: Buffer;
  sampleRate: number;
  channels: number;
  /** Samples per channel in the frame. */
  samples: number;
}

const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
const CHANNEL_COUNTS = [0, 1, 2, 3, 4, 5, 6, 8];
const HEADER_BYTES = 7;
const MAX_BUFFERED_BYTES = 16 * 1024;

/** Reads frames from packets; `pts` is the time of the packet, in any unit. Skips octets that are not a frame. */
export function createTimedAdtsReader(): { read(bytes: Buffer, pts: number): (AdtsFrame & Timed)[] } {
  return { read: createAudioFrameReader({ header: HEADER_BYTES, maxBuffered: MAX_BUFFERED_BYTES, frameAt }) };
}

function frameAt(bytes: Buffer, at: number): { frame: AdtsFrame; end: number } | "incomplete" | undefined {
  if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0) return undefined;
  const [third, fourth] = [bytes[at + 2]!, bytes[at + 3]!];
  const [type, rate, channels] = [(third >> 6) + 1, (third >> 2) & 15, ((third & 1) << 2) | (fourth >> 6)];
  const size = ((fourth & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  const header = (bytes[at + 1]! & 1) === 1 ? HEADER_BYTES : HEADER_BYTES + 2;
  const sampleRate = SAMPLE_RATES[rate];
  // Variants not used in practice: several blocks per frame, or channels declared only in the blocks.
  if (sampleRate === undefined || channels === 0 || size <= header || (bytes[at + 6]! & 3) !== 0) return undefined;
  if (at + size > bytes.length) return "incomplete";
  const config = Buffer.alloc(2);
  config.writeUInt16BE((type << 11) | (rate << 7) | (channels << 3));
  return {
    frame: {
      data: bytes.subarray(at + header, at + size),
      config,
      sampleRate,
      channels: CHANNEL_COUNTS[channels]!,
      samples: 1024,
    },
    end: at + size,
  };
}

/**
 * Returns the header for a frame of this many octets, which can only express object types up to 4 and rates in the
 * table. Undefined if the configuration cannot be expressed.
 */
export function adtsHeader(config: Buffer, octets: number): Buffer | undefined {
  if (config.length < 2) return undefined;
  const bits = config.readUInt16BE(0);
  const [type, rate, channels] = [bits >> 11, (bits >> 7) & 15, (bits >> 3) & 15];
  const size = octets + HEADER_BYTES;
  // For extensions of AAC-LC (SBR, PS), the header declares AAC-LC; decoders detect them implicitly.
  const profile = type === 5 || type === 29 ? 1 : type - 1;
  if (profile < 0 || profile > 3 || SAMPLE_RATES[rate] === undefined || channels > 7 || size > 0x1fff) return undefined;
  return Buffer.from([
    0xff,
    0xf1,
    (profile << 6) | (rate << 2) | (channels >> 2),
    ((channels & 3) << 6) | (size >> 11),
    (size >> 3) & 255,
    ((size & 7) << 5) | 31,
    0xfc,
  ]);
}
