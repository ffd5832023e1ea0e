import { boxesIn, findBox, Mp4Error, type Box } from "./boxes.ts";
import { box, flat, u16, zeros } from "./write.ts";

/** AAC-LC sample description (ISO 14496-14, 5.6). */
interface AacDescription {
  channels: number;
  sampleRate: number;
  /** RFC 6381 codec string "mp4a.40.2". */
  codecs: string;
  /** The sample entry, reduced to the fields that a decoder needs. */
  entry: Buffer;
}

/**
 * Size of the fixed part of an audio sample entry (14496-12, 12.2.3), including the box header; QuickTime versions 1
 * and 2 extend it.
 */
const AUDIO_ENTRY_BYTES = 36;
const QUICKTIME_EXTRA_BYTES = [0, 16, 36];
const MAX_CONFIG_BYTES = 4096;
const LOW_COMPLEXITY = 2;
const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];

/**
 * Reads an audio sample description. Undefined for anything except AAC-LC with one or two channels. Throws Mp4Error for
 * a malformed entry.
 */
export function readAac(description: Buffer): AacDescription | undefined {
  if (description.toString("latin1", 4, 8) !== "mp4a") return undefined;
  if (description.length < AUDIO_ENTRY_BYTES) throw new Mp4Error("truncated mp4a sample description");
  const more = QUICKTIME_EXTRA_BYTES[description.readUInt16BE(16)];
  const esds = more === undefined ? undefined : findConfig(description, AUDIO_ENTRY_BYTES + more);
  const config = esds && findSpecificConfig(esds.subarray(4));
  if (config === undefined || config.length < 2 || esds!.length > MAX_CONFIG_BYTES) return undefined;
  // ISO 14496-3, 1.6.2.1: object type, sampling rate index and channels.
  const bits = config.readUInt16BE(0);
  const sampleRate = SAMPLE_RATES[(bits >> 7) & 15];
  const channels = (bits >> 3) & 15;
  if (bits >> 11 !== LOW_COMPLEXITY || sampleRate === undefined || channels < 1 || channels > 2) return undefined;
  // Frames of 960 samples are used in broadcasting, but no browser plays them.
  if ((bits & 4) !== 0) return undefined;
  // The 16.16 format cannot represent more than 65,535 Hz; decoders use the configuration.
  const rate = sampleRate > 0xffff ? 0 : sampleRate;
  const entry = flat(box("mp4a", zeros(6), u16(1), zeros(8), u16(channels, 16, 0, 0, rate, 0), box("esds", esds!)));
  return { channels, sampleRate, codecs: "mp4a.40.2", entry };
}

/** Returns the body of the esds box, which QuickTime nests in another box (wave). */
function findConfig(description: Buffer, from: number): Buffer | undefined {
  const childBoxes: Box[] = boxesIn(description, from, description.length);
  const wave = childBoxes.find(({ type }) => type === "wave");
  const esds = childBoxes.find(({ type }) => type === "esds") ?? (wave && findBox(description, wave, "esds"));
  return esds && description.subarray(esds.body, esds.end);
}

const ES = 3;
const DECODER_CONFIG = 4;
const DECODER_SPECIFIC = 5;
/** ISO 14496-1, 7.2.6.6: object type of ISO 14496-3 audio. */
const MPEG4_AUDIO = 0x40;

/** Returns the AudioSpecificConfig inside the descriptors of an esds box (ISO 14496-1, 7.2.6). */
function findSpecificConfig(bytes: Buffer): Buffer | undefined {
  const es = findDescriptor(bytes, ES);
  if (es === undefined || es.length < 3) return undefined;
  const flags = es[2]!;
  let at = 3;
  if ((flags & 0x80) !== 0) at += 2;
  if ((flags & 0x40) !== 0) at += 1 + (es[at] ?? 0);
  if ((flags & 0x20) !== 0) at += 2;
  const config = findDescriptor(es.subarray(at), DECODER_CONFIG);
  return config === undefined || config.length < 13 || config[0] !== MPEG4_AUDIO
    ? undefined
    : findDescriptor(config.subarray(13), DECODER_SPECIFIC);
}

/** Returns the body of the first descriptor, which must have this tag. Sizes are encoded with seven bits per octet. */
function findDescriptor(bytes: Buffer, tag: number): Buffer | undefined {
  if (bytes[0] !== tag) return undefined;
  let size = 0;
  for (let at = 1; at <= 4; at++) {
    const octet = bytes[at];
    if (octet === undefined) return undefined;
    size = size * 128 + (octet & 127);
    if ((octet & 128) === 0) return at + 1 + size <= bytes.length ? bytes.subarray(at + 1, at + 1 + size) : undefined;
  }
  return undefined;
}
