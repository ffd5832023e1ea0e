import { type Box, entriesOf, findBox, readFullBox, Mp4Error, requireBox } from "./boxes.ts";

/** Locations and times of a track's samples (ISO 14496-12, 8.6 and 8.7), run-length encoded as in the file. */
export interface SampleTables {
  count: number;
  /** Sizes in octets: either one for all samples, or one for each sample. */
  sizes: number | Uint32Array;
  /** Pairs of a sample count and the duration of each. */
  durations: Uint32Array;
  /** Pairs of a sample count and the composition offset of each. If absent, all offsets are 0. */
  shifts: Int32Array | undefined;
  /** Offset of each chunk in the file. */
  chunks: Float64Array;
  /** Triples: number of the first chunk, starting at 1; samples per chunk; sample description. */
  chunkRuns: Uint32Array;
  /** Numbers of the sync samples, starting at 1. If absent, all samples are sync samples. */
  syncs: Uint32Array | undefined;
}

/** Maximum number of samples: more than a day at 120 frames per second. */
const MAX_SAMPLES = 12_000_000;

/** Copies the tables, so that `bytes` can be freed. Throws Mp4Error. */
export function readSampleTables(bytes: Buffer, stbl: Box): SampleTables {
  const sizes = readSizes(bytes, requireBox(bytes, stbl, "stsz"));
  const ctts = findBox(bytes, stbl, "ctts");
  const stss = findBox(bytes, stbl, "stss");
  return {
    ...sizes,
    durations: readWords(bytes, requireBox(bytes, stbl, "stts"), 2),
    // Version 0 is unsigned, but QuickTime and others write negative values into it.
    shifts: ctts && toSigned(readWords(bytes, ctts, 2)),
    chunks: readChunks(bytes, stbl),
    chunkRuns: readWords(bytes, requireBox(bytes, stbl, "stsc"), 3),
    syncs: stss && readWords(bytes, stss, 1),
  };
}

function readSizes(bytes: Buffer, stsz: Box): Pick<SampleTables, "count" | "sizes"> {
  const { at } = readFullBox(bytes, stsz, 8);
  const uniformSize = bytes.readUInt32BE(at);
  const count = bytes.readUInt32BE(at + 4);
  if (count > MAX_SAMPLES) throw new Mp4Error(`a track has ${count} samples; at most ${MAX_SAMPLES} are supported`);
  return { count, sizes: uniformSize === 0 ? readWords(bytes, stsz, 1, 4) : uniformSize };
}

function readChunks(bytes: Buffer, stbl: Box): Float64Array {
  const stco = findBox(bytes, stbl, "stco");
  if (stco !== undefined) return Float64Array.from(readWords(bytes, stco, 1));
  const { count, at } = entriesOf(bytes, requireBox(bytes, stbl, "co64"), 8);
  const chunks = new Float64Array(count);
  for (let i = 0; i < count; i++)
    chunks[i] = bytes.readUInt32BE(at + 8 * i) * 4_294_967_296 + bytes.readUInt32BE(at + 8 * i + 4);
  return chunks;
}

/** Returns entries of `width` 32-bit numbers in native byte order. */
function readWords(bytes: Buffer, box: Box, width: number, header = 0): Uint32Array {
  const { count, at } = entriesOf(bytes, box, 4 * width, header);
  const tableWords = new Uint32Array(count * width);
  const view = Buffer.from(tableWords.buffer);
  bytes.copy(view, 0, at, at + view.length);
  if (LITTLE_ENDIAN) view.swap32();
  return tableWords;
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const toSigned = (numbers: Uint32Array) => new Int32Array(numbers.buffer);
