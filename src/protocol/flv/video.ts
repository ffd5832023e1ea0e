import { PACKET, readEnhanced } from "./enhanced.ts";
import { FlvError } from "./violation.ts";

type FlvVideoCodec = "h264" | "hevc" | "av1" | "vp8" | "vp9";

/** Body of a video message or tag. */
export type FlvVideo =
  | {
      kind: "config";
      codec: FlvVideoCodec;
      /** Content of the avcC, hvcC, av1C or vpcC box, without a box header. */ config: Buffer;
    }
  | {
      kind: "picture";
      codec: FlvVideoCodec;
      key: boolean;
      /** Time from decoding to presentation in milliseconds; may be negative. */ composition: number;
      data: Buffer;
    }
  /** Video in an unsupported codec. */
  | { kind: "unknown"; codec: string }
  /** Messages such as sequence ends, commands, metadata and additional tracks. */
  | { kind: "other" };

const FRAME = { key: 1, inter: 2, generatedKey: 4, command: 5 } as const;
const OTHER = { kind: "other" } as const;
/** Codecs in FLV 10.1, E.4.3.1; 12 is the unofficial number that Chinese encoders use for HEVC. */
const CODEC_BY_NUMBER: Record<number, FlvVideoCodec> = { 7: "h264", 12: "hevc" };
const OLD_CODECS: Record<number, string> = {
  2: "Sorenson H.263",
  3: "Screen Video",
  4: "VP6",
  5: "VP6 with alpha",
  6: "Screen Video 2",
  13: "codec 13 (AV1 is sent with an extended header)",
};
const FOUR_CC: Record<string, FlvVideoCodec> = { avc1: "h264", hvc1: "hevc", av01: "av1", vp08: "vp8", vp09: "vp9" };
const FOUR_CC_OF = { h264: "avc1", hevc: "hvc1", av1: "av01", vp8: "vp08", vp9: "vp09" } as const;
const AVC = 7;
const CODECS_WITH_COMPOSITION = new Set<FlvVideoCodec>(["h264", "hevc"]);

/** Reads the body of a video message. Throws FlvError. The result refers to memory in `bytes`. */
export function readVideo(bytes: Buffer): FlvVideo {
  if (bytes.length === 0) return OTHER;
  const first = bytes[0]!;
  const frame = (first >> 4) & 7;
  if (first >= 0x80) return frame === FRAME.command ? OTHER : readExtended(first & 15, frame, bytes);
  if (frame === FRAME.command) return OTHER;
  const codec = CODEC_BY_NUMBER[first & 15];
  if (codec === undefined) return { kind: "unknown", codec: OLD_CODECS[first & 15] ?? `codec ${first & 15}` };
  if (bytes.length < 5) throw new FlvError("truncated video packet header");
  const body = bytes.subarray(5);
  if (bytes[1] === 0) return configOf(codec, body);
  return bytes[1] === 1 ? createPicture(codec, frame, bytes.readIntBE(2, 3), body) : OTHER;
}

function readExtended(type: number, frame: number, bytes: Buffer): FlvVideo {
  const enhancedBody = readEnhanced("video", type, bytes);
  if (enhancedBody === undefined || enhancedBody.type > PACKET.codedFramesX || enhancedBody.type === PACKET.sequenceEnd)
    return OTHER;
  const codec = FOUR_CC[enhancedBody.fourCc];
  if (codec === undefined) return { kind: "unknown", codec: printableFourCc(enhancedBody.fourCc) };
  if (enhancedBody.type === PACKET.sequenceStart) return configOf(codec, enhancedBody.body);
  if (enhancedBody.type === PACKET.codedFramesX || !CODECS_WITH_COMPOSITION.has(codec))
    return createPicture(codec, frame, 0, enhancedBody.body);
  if (enhancedBody.body.length < 3) throw new FlvError("truncated video packet header");
  return createPicture(codec, frame, enhancedBody.body.readIntBE(0, 3), enhancedBody.body.subarray(3));
}

const configOf = (codec: FlvVideoCodec, config: Buffer): FlvVideo =>
  config.length === 0 ? OTHER : { kind: "config", codec, config };

const createPicture = (codec: FlvVideoCodec, frame: number, composition: number, data: Buffer): FlvVideo =>
  data.length === 0
    ? OTHER
    : { kind: "picture", codec, key: frame === FRAME.key || frame === FRAME.generatedKey, composition, data };

/** Makes a FourCC printable for error messages. */
export const printableFourCc = (fourCc: string): string => fourCc.replace(/[^\x20-\x7e]/g, "?");

/** Writes H.264 in the legacy format, which every reader supports, and other codecs by FourCC (Enhanced RTMP). */
export function writeVideoConfig(codec: FlvVideoCodec, config: Buffer): Buffer {
  const head =
    codec === "h264"
      ? Buffer.from([(FRAME.key << 4) | AVC, 0, 0, 0, 0])
      : createExtendedHead(FRAME.key, PACKET.sequenceStart, codec);
  return Buffer.concat([head, config]);
}

/** Returns octets that precede the data of a frame. */
export function videoFrameHeader(
  codec: FlvVideoCodec,
  { key, composition }: { key: boolean; composition: number },
): Buffer {
  const frame = key ? FRAME.key : FRAME.inter;
  if (codec === "h264") return Buffer.from([(frame << 4) | AVC, 1, composition >> 16, composition >> 8, composition]);
  const type = createExtendedHead(frame, PACKET.codedFrames, codec);
  return CODECS_WITH_COMPOSITION.has(codec)
    ? Buffer.concat([type, Buffer.from([composition >> 16, composition >> 8, composition])])
    : type;
}

const createExtendedHead = (frame: number, type: number, codec: FlvVideoCodec) =>
  Buffer.concat([Buffer.from([0x80 | (frame << 4) | type]), Buffer.from(FOUR_CC_OF[codec], "latin1")]);
