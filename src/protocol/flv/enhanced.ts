import { FlvError } from "./violation.ts";

/** Payload of an extended header (Enhanced RTMP v2): packet type and codec of one track, and its body. */
interface EnhancedBody {
  type: number;
  fourCc: string;
  body: Buffer;
}

export const PACKET = {
  sequenceStart: 0,
  codedFrames: 1,
  sequenceEnd: 2,
  codedFramesX: 3,
  multitrack: { audio: 5, video: 6 },
  modEx: 7,
} as const;
const TRACKS = { one: 0, many: 1, manyCodecs: 2 } as const;

/**
 * Reads the octets after the first one, whose lower half is `type`. Undefined if the first track is not included:
 * additional tracks are alternatives, which are ignored.
 */
export function readEnhanced(kind: "audio" | "video", type: number, bytes: Buffer): EnhancedBody | undefined {
  let at = 1;

  function skipOctets(octets: number): number {
    const from = at;
    if (from + octets > bytes.length) throw new FlvError("truncated extended header");
    at += octets;
    return from;
  }

  const fourCc = () => bytes.toString("latin1", skipOctets(4), at);

  // Packet modifiers, each preceded by its size. Only the nanosecond offset is defined, which is skipped because
  // milliseconds suffice here.
  while (type === PACKET.modEx) {
    let size = bytes[skipOctets(1)]! + 1;
    if (size === 256) size = bytes.readUInt16BE(skipOctets(2)) + 1;
    skipOctets(size);
    type = bytes[skipOctets(1)]! & 15;
  }
  if (type !== PACKET.multitrack[kind]) return { type, fourCc: fourCc(), body: bytes.subarray(at) };

  const packingByte = bytes[skipOctets(1)]!;
  type = packingByte & 15;
  const tracks = packingByte >> 4;
  let codec = tracks === TRACKS.manyCodecs ? "" : fourCc();
  while (at < bytes.length) {
    if (tracks === TRACKS.manyCodecs) codec = fourCc();
    const id = bytes[skipOctets(1)]!;
    const size = tracks === TRACKS.one ? bytes.length - at : bytes.readUIntBE(skipOctets(3), 3);
    const from = skipOctets(size);
    if (id === 0) return { type, fourCc: codec, body: bytes.subarray(from, at) };
  }
  return undefined;
}
