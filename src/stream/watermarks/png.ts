import { crc32 } from "node:zlib";

/** An image with a valid structure; its pixels are checked by a decoder. */
interface Png {
  width: number;
  height: number;
  /** The same image reduced to what is needed to show it: no texts, profiles, animations or trailing data. */
  bytes: Buffer;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** 4096 x 4096: larger than in any rendition, and 64 MB when decoded. */
const MAX_PIXELS = 4096 * 4096;
const MAX_SIDE = 16_384;
/** PNG 11.2.1: bit depths of each colour type. */
const DEPTHS: Record<number, readonly number[]> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const RETAINED_CHUNKS = new Set(["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]);
/** A chunk has at least 12 bytes. */
const CHUNK_OVERHEAD_BYTES = 12;

/**
 * Reads the structure of a PNG (ISO/IEC 15948, 5 and 11.2): order, lengths and checksums of its chunks, and its size.
 * Returns the reason as text if it is invalid.
 */
export function readPng(file: Buffer): Png | string {
  if (!file.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return "it is not a PNG";
  const keptChunks: Buffer[] = [SIGNATURE];
  const seenTypes = new Set<string>();
  let size: { width: number; height: number } | undefined;
  for (let offset = SIGNATURE.length; ;) {
    if (offset + CHUNK_OVERHEAD_BYTES > file.length) return "it is truncated";
    const length = file.readUInt32BE(offset);
    const type = file.toString("latin1", offset + 4, offset + 8);
    const end = offset + CHUNK_OVERHEAD_BYTES + length;
    if (end > file.length) return "it is truncated";
    if (crc32(file.subarray(offset + 4, end - 4)) !== file.readUInt32BE(end - 4))
      return `the checksum of a chunk (${toPrintable(type)}) is wrong`;
    if ((type === "IHDR") !== (offset === SIGNATURE.length)) return "its header is not where it belongs";
    if (type === "IHDR") {
      const header = readHeader(file.subarray(offset + 8, end - 4));
      if (typeof header === "string") return header;
      size = header;
    }
    // PNG 5.4: an image with an unknown critical chunk must not be shown.
    if (/^[A-Z]/.test(type) && !RETAINED_CHUNKS.has(type))
      return `it has an unknown critical chunk (${toPrintable(type)})`;
    if (RETAINED_CHUNKS.has(type)) keptChunks.push(file.subarray(offset, end));
    seenTypes.add(type);
    offset = end;
    if (type === "IEND") break;
  }
  if (!seenTypes.has("IDAT")) return "it has no image data";
  return { ...size!, bytes: Buffer.concat(keptChunks) };
}

function readHeader(data: Buffer): { width: number; height: number } | string {
  if (data.length !== 13) return "its header has the wrong length";
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = data.subarray(8);
  if (width === 0 || height === 0) return "it has no pixels";
  if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS)
    return `it has ${width} x ${height} pixels; the maximum is ${MAX_PIXELS} (4096 x 4096)`;
  if (DEPTHS[colour]?.includes(depth) !== true || compression !== 0 || filter !== 0 || interlace > 1)
    return "its header is invalid";
  return { width, height };
}

const toPrintable = (type: string): string => (/^[A-Za-z]{4}$/.test(type) ? type : "unnamed");
