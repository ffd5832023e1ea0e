import { type Box, boxesIn, entriesOf, findBox, readFullBox, Mp4Error, requireBox, requirePath } from "./boxes.ts";
import { readSampleTables, type SampleTables } from "./sample-tables.ts";

/** Contents of a file's index (moov). */
export interface Movie {
  /** Ticks per second of the edit lists. */
  timescale: number;
  /** The file may continue in fragments, which may contain more samples. */
  extends: boolean;
  tracks: Track[];
}

export interface Track {
  id: number;
  /** Handler type: "vide", "soun", … */
  handler: string;
  /** Ticks per second of the sample times. */
  timescale: number;
  /** ISO 639-2 language code, if valid. */
  language: string | undefined;
  edits: Edit[];
  /** Raw sample descriptions including their headers; more than one means that the codec changes within the track. */
  descriptions: Buffer[];
  /** True if all samples are in this file (8.7.2: a data reference may refer to another file). */
  selfContained: boolean;
  /** Reads the sample tables. They are large, so call this only for tracks that need them. Throws Mp4Error. */
  samples(): SampleTables;
}

/** An edit list entry (ISO 14496-12, 8.6.6). */
interface Edit {
  /** In movie ticks. */
  duration: number;
  /** In track ticks; undefined for an empty edit. */
  mediaTime: number | undefined;
  /** Usually 1. */
  rate: number;
}

const MAX_TRACKS = 64;
const MAX_EDITS = 1000;

/** Reads the moov box. Throws Mp4Error. */
export function readMovie(bytes: Buffer): Movie {
  const [moov] = boxesIn(bytes, 0, bytes.length);
  if (moov?.type !== "moov") throw new Mp4Error("not a moov box");
  const childBoxes = boxesIn(bytes, moov.body, moov.end);
  const tracks = childBoxes.filter(({ type }) => type === "trak");
  if (tracks.length > MAX_TRACKS)
    throw new Mp4Error(`the file has ${tracks.length} tracks; at most ${MAX_TRACKS} are supported`);
  return {
    timescale: readTimes(bytes, requireBox(bytes, moov, "mvhd")).timescale,
    extends: childBoxes.some(({ type }) => type === "mvex"),
    tracks: tracks.map((trak) => readTrack(bytes, trak)),
  };
}

function readTrack(bytes: Buffer, trak: Box): Track {
  const mdia = requireBox(bytes, trak, "mdia");
  const header = readTimes(bytes, requireBox(bytes, mdia, "mdhd"));
  const stbl = requirePath(bytes, mdia, "minf", "stbl");
  const hdlr = requireBox(bytes, mdia, "hdlr");
  const { at } = readFullBox(bytes, hdlr, 8);
  return {
    id: readTrackId(bytes, requireBox(bytes, trak, "tkhd")),
    handler: bytes.toString("latin1", at + 4, at + 8),
    ...header,
    edits: readEdits(bytes, trak),
    descriptions: readDescriptions(bytes, requireBox(bytes, stbl, "stsd")),
    selfContained: isSelfContained(bytes, mdia),
    samples: () => readSampleTables(bytes, stbl),
  };
}

/** Reads mvhd or mdhd, which start with the same fields (8.2.2, 8.4.2). */
function readTimes(bytes: Buffer, box: Box): { timescale: number; language: string | undefined } {
  const { version, at } = readFullBox(bytes, box, bytes[box.body] === 1 ? 30 : 18);
  const timescale = bytes.readUInt32BE(at + (version === 1 ? 16 : 8));
  if (timescale === 0) throw new Mp4Error(`the timescale in ${box.type} is 0`);
  return { timescale, language: languageOf(bytes.readUInt16BE(at + (version === 1 ? 28 : 16))) };
}

/** The language is packed as three letters of five bits each. */
function languageOf(packed: number): string | undefined {
  const letters = [10, 5, 0].map((shift) => ((packed >> shift) & 31) + 0x60);
  return letters.every((letter) => letter > 0x60 && letter <= 0x7a) ? String.fromCharCode(...letters) : undefined;
}

function readTrackId(bytes: Buffer, tkhd: Box): number {
  const { version, at } = readFullBox(bytes, tkhd, bytes[tkhd.body] === 1 ? 20 : 12);
  return bytes.readUInt32BE(at + (version === 1 ? 16 : 8));
}

function readEdits(bytes: Buffer, trak: Box): Edit[] {
  const edts = findBox(bytes, trak, "edts");
  const elst = edts && findBox(bytes, edts, "elst");
  if (elst === undefined) return [];
  const isVersion1 = bytes[elst.body] === 1;
  const width = isVersion1 ? 20 : 12;
  const { count, at } = entriesOf(bytes, elst, width);
  if (count > MAX_EDITS) throw new Mp4Error(`a track has ${count} edits; at most ${MAX_EDITS} are supported`);
  return Array.from({ length: count }, (_, i) => {
    const entry = at + i * width;
    const mediaTime = isVersion1 ? Number(bytes.readBigInt64BE(entry + 8)) : bytes.readInt32BE(entry + 4);
    return {
      duration: isVersion1 ? Number(bytes.readBigUInt64BE(entry)) : bytes.readUInt32BE(entry),
      mediaTime: mediaTime < 0 ? undefined : mediaTime,
      rate: bytes.readInt32BE(entry + width - 4) / 65_536,
    };
  });
}

function readDescriptions(bytes: Buffer, stsd: Box): Buffer[] {
  const { at } = readFullBox(bytes, stsd, 4);
  // The descriptions are copied, so that the large index can be freed.
  return boxesIn(bytes, at + 4, stsd.end).map(({ start, end }) => Buffer.from(bytes.subarray(start, end)));
}

function isSelfContained(bytes: Buffer, mdia: Box): boolean {
  const minf = requireBox(bytes, mdia, "minf");
  const dinf = findBox(bytes, minf, "dinf");
  const dref = dinf && findBox(bytes, dinf, "dref");
  if (dref === undefined) return true;
  const { at } = readFullBox(bytes, dref, 4);
  return boxesIn(bytes, at + 4, dref.end).every((entry) => (readFullBox(bytes, entry).flags & 1) === 1);
}
