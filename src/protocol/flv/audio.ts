import { PACKET, readEnhanced } from "./enhanced.ts";
import { FlvError } from "./violation.ts";
import { printableFourCc } from "./video.ts";

type FlvAudioCodec = "aac" | "opus" | "mp3";

/** Body of an audio message or tag. */
export type FlvAudio =
  | { kind: "config"; codec: FlvAudioCodec; /** AudioSpecificConfig or OpusHead. */ config: Buffer }
  | { kind: "frame"; codec: FlvAudioCodec; data: Buffer }
  /** Audio in an unsupported codec. */
  | { kind: "unknown"; codec: string }
  /** Messages such as sequence ends, channel layouts, additional tracks and silence. */
  | { kind: "other" };

const OTHER = { kind: "other" } as const;
/** Sound formats in FLV 10.1, E.4.2.1; 9 indicates an extended header (Enhanced RTMP v2). */
const FORMAT = { mp3: 2, extended: 9, aac: 10, mp3Of8kHz: 14 } as const;
const OLD_CODECS = [
  "PCM",
  "ADPCM",
  "",
  "PCM",
  "Nellymoser of 16 kHz",
  "Nellymoser of 8 kHz",
  "Nellymoser",
  "G.711 A-law",
  "G.711 mu-law",
  "",
  "",
  "Speex",
];
const FOUR_CC: Record<string, FlvAudioCodec> = { mp4a: "aac", Opus: "opus", ".mp3": "mp3" };
/** Stereo, 16 bits, 44 kHz: always declared for AAC, regardless of the actual format (E.4.2.1). */
const QUALITY = 0x0f;

/** Reads the body of an audio message. Throws FlvError. The result refers to memory in `bytes`. */
export function readAudio(bytes: Buffer): FlvAudio {
  // An empty message means that there is currently no audio.
  if (bytes.length === 0) return OTHER;
  const format = bytes[0]! >> 4;
  if (format === FORMAT.extended) return readExtended(bytes);
  if (format === FORMAT.mp3 || format === FORMAT.mp3Of8kHz) return createFrame("mp3", bytes.subarray(1));
  if (format !== FORMAT.aac) return { kind: "unknown", codec: OLD_CODECS[format] || `format ${format}` };
  if (bytes.length < 2) throw new FlvError("truncated AAC packet header");
  const body = bytes.subarray(2);
  if (bytes[1] === 0) return configOf("aac", body);
  return bytes[1] === 1 ? createFrame("aac", body) : OTHER;
}

function readExtended(bytes: Buffer): FlvAudio {
  const enhancedBody = readEnhanced("audio", bytes[0]! & 15, bytes);
  if (enhancedBody === undefined || enhancedBody.type > PACKET.codedFrames) return OTHER;
  const codec = FOUR_CC[enhancedBody.fourCc];
  if (codec === undefined) return { kind: "unknown", codec: printableFourCc(enhancedBody.fourCc) };
  return enhancedBody.type === PACKET.sequenceStart
    ? configOf(codec, enhancedBody.body)
    : createFrame(codec, enhancedBody.body);
}

const configOf = (codec: FlvAudioCodec, config: Buffer): FlvAudio =>
  config.length === 0 ? OTHER : { kind: "config", codec, config };
const createFrame = (codec: FlvAudioCodec, data: Buffer): FlvAudio =>
  data.length === 0 ? OTHER : { kind: "frame", codec, data };

/** Writes AAC and MP3 in the legacy format, Opus by its FourCC. Undefined if the codec has no configuration. */
export function writeAudioConfig(codec: FlvAudioCodec, config: Buffer): Buffer | undefined {
  if (codec === "mp3" || config.length === 0) return undefined;
  return Buffer.concat([
    codec === "aac" ? Buffer.from([(FORMAT.aac << 4) | QUALITY, 0]) : createExtendedHead(PACKET.sequenceStart),
    config,
  ]);
}

/** Fixed octets that precede the data of a frame. */
export const audioFrameHeader = (codec: FlvAudioCodec): Buffer => FRAME_HEAD_BY_CODEC[codec];

const createExtendedHead = (type: number) =>
  Buffer.concat([Buffer.from([(FORMAT.extended << 4) | type]), Buffer.from("Opus", "latin1")]);
const FRAME_HEAD_BY_CODEC = {
  aac: Buffer.from([(FORMAT.aac << 4) | QUALITY, 1]),
  mp3: Buffer.from([(FORMAT.mp3 << 4) | QUALITY]),
  opus: createExtendedHead(PACKET.codedFrames),
};
