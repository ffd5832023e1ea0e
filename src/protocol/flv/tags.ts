import { FlvError } from "./violation.ts";

/** One tag of an FLV file (Adobe FLV 10.1, E.4.1): `type` is 8 for audio, 9 for video, 18 for data. */
export interface FlvTag {
  type: number;
  /** Milliseconds. */
  time: number;
  data: Buffer;
}

const TAG_HEADER_BYTES = 11;
const PREVIOUS_TAG_SIZE_BYTES = 4;
/**
 * File header (E.2) and the size field before the first tag. Readers wait for all streams that the header announces.
 */
export const flvHeader = ({ video, audio }: { video: boolean; audio: boolean }): Buffer =>
  Buffer.from([0x46, 0x4c, 0x56, 1, (audio ? 4 : 0) | (video ? 1 : 0), 0, 0, 0, 9, 0, 0, 0, 0]);

export function writeTag({ type, time, data }: FlvTag): Buffer {
  const bytes = Buffer.allocUnsafe(TAG_HEADER_BYTES + data.length + PREVIOUS_TAG_SIZE_BYTES);
  bytes[0] = type;
  bytes.writeUIntBE(data.length, 1, 3);
  // The upper eight bits of the time follow the lower 24.
  bytes.writeUIntBE(time & 0xffffff, 4, 3);
  bytes[7] = time >>> 24;
  bytes.writeUIntBE(0, 8, 3);
  data.copy(bytes, TAG_HEADER_BYTES);
  bytes.writeUInt32BE(TAG_HEADER_BYTES + data.length, TAG_HEADER_BYTES + data.length);
  return bytes;
}

/**
 * Reads consecutive tags, as in a file after its header, or in an RTMP aggregate message (RTMP 7.1.6). Throws FlvError
 * for a truncated tag.
 */
export function* readTags(bytes: Buffer): Iterable<FlvTag> {
  for (let at = 0; at < bytes.length;) {
    if (at + TAG_HEADER_BYTES > bytes.length) throw new FlvError("truncated tag header");
    const from = at + TAG_HEADER_BYTES;
    const to = from + bytes.readUIntBE(at + 1, 3);
    if (to > bytes.length) throw new FlvError("truncated tag");
    yield {
      type: bytes[at]! & 31,
      time: (bytes.readUIntBE(at + 4, 3) | (bytes[at + 7]! << 24)) >>> 0,
      data: bytes.subarray(from, to),
    };
    at = to + PREVIOUS_TAG_SIZE_BYTES;
  }
}
