import { Mp4Error } from "./boxes.ts";
import { box, flat, u16, u32, zeros } from "./write.ts";

/** Sample entry built from the codec configuration received from a broadcast. */
export interface SampleEntry {
  /** RFC 6381 codec string. */
  codecs: string;
  /** The sample entry, including its box header. */
  entry: Buffer;
}

const toHex = (octet: number) => octet.toString(16).padStart(2, "0");
const requireLength = (record: Buffer, minLength: number, name: string) => {
  if (record.length < minLength)
    throw new Mp4Error(`the configuration record ${name} has ${record.length} octets; expected at least ${minLength}`);
};

/**
 * Builds `avc1` from an AVCDecoderConfigurationRecord (ISO 14496-15, 5.3.3.1), for samples with four-octet NAL unit
 * lengths. Throws Mp4Error.
 */
export function avcEntry(record: Buffer, width: number, height: number): SampleEntry {
  requireLength(record, 7, "avcC");
  const config = Buffer.from(record);
  config[4]! |= 3;
  return {
    codecs: `avc1.${toHex(record[1]!)}${toHex(record[2]!)}${toHex(record[3]!)}`,
    entry: createVisualEntry("avc1", width, height, "avcC", config),
  };
}

/**
 * Builds `hvc1` from an HEVCDecoderConfigurationRecord (ISO 14496-15, 8.3.3.1; codec string: annex E.3), also for
 * four-octet lengths. Throws Mp4Error.
 */
export function hevcEntry(record: Buffer, width: number, height: number): SampleEntry {
  requireLength(record, 23, "hvcC");
  const config = Buffer.from(record);
  config[21]! |= 3;
  const profile = `${["", "A", "B", "C"][record[1]! >> 6]!}${record[1]! & 31}`;
  let flags = 0;
  // The first flag becomes the lowest bit.
  for (let i = 0, from = record.readUInt32BE(2); i < 32; i++) flags = flags * 2 + ((from >>> i) & 1);
  const constraints = [...record.subarray(6, 12)];
  while (constraints.at(-1) === 0) constraints.pop();
  const level = `${(record[1]! & 32) === 0 ? "L" : "H"}${record[12]!}`;
  return {
    codecs: [
      "hvc1",
      profile,
      flags.toString(16).toUpperCase(),
      level,
      ...constraints.map((octet) => octet.toString(16).toUpperCase()),
    ].join("."),
    entry: createVisualEntry("hvc1", width, height, "hvcC", config),
  };
}

/**
 * Builds `av01` from an AV1CodecConfigurationRecord (AV1 Codec ISO Media File Format Binding, 2.3.3 and 5). Throws
 * Mp4Error.
 */
export function av1Entry(record: Buffer, width: number, height: number): SampleEntry {
  requireLength(record, 4, "av1C");
  const [, levels, flags] = record as unknown as [number, number, number];
  const depth = (flags & 0x40) === 0 ? 8 : (flags & 0x20) === 0 ? 10 : 12;
  const codecs = `av01.${levels >> 5}.${String(levels & 31).padStart(2, "0")}${(flags & 0x80) === 0 ? "M" : "H"}.${String(depth).padStart(2, "0")}`;
  return { codecs, entry: createVisualEntry("av01", width, height, "av1C", record) };
}

/** Builds a visual sample entry (ISO 14496-12, 12.1.3). */
function createVisualEntry(type: string, width: number, height: number, name: string, config: Buffer): Buffer {
  return flat(
    box(
      type,
      zeros(6),
      u16(1),
      zeros(16),
      u16(width, height),
      u32(0x48_0000, 0x48_0000, 0),
      u16(1),
      zeros(32),
      u16(24, 0xffff),
      box(name, config),
    ),
  );
}

/** Contents of an AudioSpecificConfig (ISO 14496-3, 1.6.2.1). */
interface AacConfig {
  /** Audio object type: 2 is AAC-LC; 5 and 29 are HE-AAC. */
  kind: number;
  /** Coded sample rate; for HE-AAC, half of the output rate. */
  sampleRate: number;
  /** Channel configuration: the number of channels up to 6; 0 means that it is defined elsewhere. */
  channels: number;
  /** Samples per frame. */
  frame: number;
}

const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
const EXPLICIT_RATE = 15;
const EXTENDED_TYPE = 31;
/** SBR, without and with parametric stereo: their own fields precede the core configuration. */
const EXTENSIONS = new Set([5, 29]);

/** Reads an AudioSpecificConfig. Throws Mp4Error if it is truncated or has no sample rate. */
export function readAacConfig(config: Buffer): AacConfig {
  let at = 0;
  const readBits = (count: number) => {
    if (at + count > config.length * 8) throw new Mp4Error("truncated AudioSpecificConfig");
    let value = 0;
    for (const end = at + count; at < end; at++) value = value * 2 + ((config[at >> 3]! >> (7 - (at & 7))) & 1);
    return value;
  };
  const readObjectType = () => {
    const kind = readBits(5);
    return kind === EXTENDED_TYPE ? 32 + readBits(6) : kind;
  };
  const rate = () => {
    const index = readBits(4);
    const sampleRate = index === EXPLICIT_RATE ? readBits(24) : SAMPLE_RATES[index];
    if (sampleRate === undefined || sampleRate === 0)
      throw new Mp4Error("an AudioSpecificConfig has no sampling frequency");
    return sampleRate;
  };
  const kind = readObjectType();
  const sampleRate = rate();
  const channels = readBits(4);
  if (EXTENSIONS.has(kind)) {
    rate();
    readObjectType();
  }
  return { kind, sampleRate, channels, frame: readBits(1) === 1 ? 960 : 1024 };
}

/** ISO 14496-1, 7.2.2: all descriptors written here are shorter than 16 KiB. */
const createDescriptor = (tag: number, ...contents: Uint8Array[]) => {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, 0x80 | (body.length >> 7), body.length & 127]), body]);
};

/** Builds `mp4a` (ISO 14496-14, 5.6). Throws Mp4Error. */
export function aacEntry(config: Buffer): SampleEntry & AacConfig {
  const aacConfig = readAacConfig(config);
  if (config.length > 1024) throw new Mp4Error(`an AudioSpecificConfig is too large: ${config.length} octets`);
  // Object type 0x40 is ISO 14496-3 audio; stream type 5 is audio.
  const decoder = createDescriptor(4, Buffer.from([0x40, 0x15]), zeros(11), createDescriptor(5, config));
  const esds = box(
    "esds",
    u32(0),
    createDescriptor(3, Buffer.from([0, 1, 0]), decoder, createDescriptor(6, Buffer.from([2]))),
  );
  const rate = aacConfig.sampleRate > 0xffff ? 0 : aacConfig.sampleRate;
  return {
    ...aacConfig,
    codecs: `mp4a.40.${aacConfig.kind}`,
    entry: flat(box("mp4a", zeros(6), u16(1), zeros(8), u16(aacConfig.channels || 2, 16, 0, 0, rate, 0), esds)),
  };
}
