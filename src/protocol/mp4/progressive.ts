import type { SampleLog } from "./sample-log.ts";
import { box, fileType, fullBox, mediaHeader, u32, type BufferList } from "./write.ts";
import { editListBox, movieHeader, trackBox, type TrackHeader } from "./write-track.ts";

/** Samples of a track that are contiguous in the file. */
export interface SampleChunk {
  /** Relative to the start of the media data. */
  offset: number;
  count: number;
}

export interface WrittenTrack {
  header: TrackHeader;
  samples: SampleLog;
  chunks: readonly SampleChunk[];
}

const MS_PER_SECOND = 1000;
const MAX_UINT32 = 0xffff_ffff;

/**
 * Returns the whole file except for the media data, which follows: the index comes first, so that playback can start
 * immediately. `kind`: "M4A " indicates audio-only files. `mediaBytes`: size of the media data in octets.
 */
export function writeMovie(tracks: readonly WrittenTrack[], mediaBytes: number, kind: "isom" | "M4A "): Uint8Array[] {
  const type =
    kind === "isom"
      ? fileType("isom", 0x200, "isom", "iso2", "avc1", "mp41")
      : fileType("M4A ", 0x200, "M4A ", "isom", "iso2");
  const header = mediaHeader(mediaBytes);
  const createLayout = (width: 4 | 8) => {
    // The offsets depend on the size of the index that contains them, so their space is reserved first and filled in
    // later.
    const offsets = tracks.map(({ chunks }) => Buffer.alloc(chunks.length * width));
    return { offsets, width, moov: createMoov(tracks, offsets, width) };
  };
  let layout = createLayout(4);
  if (type.size + layout.moov.size + header.length + mediaBytes > MAX_UINT32) layout = createLayout(8);
  const first = type.size + layout.moov.size + header.length;
  for (const [i, { chunks }] of tracks.entries()) fillOffsets(layout.offsets[i]!, chunks, first, layout.width);
  return [...type.pieces, ...layout.moov.pieces, header];
}

function fillOffsets(bytes: Buffer, chunks: readonly SampleChunk[], first: number, width: 4 | 8): void {
  for (const [i, { offset }] of chunks.entries()) {
    if (width === 8) bytes.writeBigUInt64BE(BigInt(first + offset), i * 8);
    else bytes.writeUInt32BE(first + offset, i * 4);
  }
}

function createMoov(tracks: readonly WrittenTrack[], offsets: Buffer[], width: 4 | 8): BufferList {
  const durations = tracks.map(shownDurationMs);
  const boxes = tracks.map((track, i) =>
    createTrak(
      track,
      durations[i]!,
      fullBox(width === 8 ? "co64" : "stco", 0, 0, u32(track.chunks.length), offsets[i]!),
    ),
  );
  return box("moov", movieHeader(Math.max(0, ...durations), tracks.length + 1), ...boxes);
}

/** Ticks before second zero, during which an audio decoder is primed. */
const primingOf = ({ handler, delay = 0 }: TrackHeader): number => (handler === "soun" ? delay : 0);

/** Duration from the start of the movie to the end of the track. */
const shownDurationMs = ({ header, samples }: WrittenTrack) =>
  Math.round(((samples.presentationRange().to - primingOf(header)) / header.timescale) * MS_PER_SECOND);

function createTrak({ header, samples, chunks }: WrittenTrack, duration: number, offsets: BufferList): BufferList {
  // Old players require every frame to be presented after its decoding time; the edit list removes the resulting delay.
  const delay = -Math.min(0, samples.minCompositionOffset);
  const tables = [fullBox("stts", 0, 0, ...createRunTables(samples.durations()))];
  if (!samples.allSync) tables.push(fullBox("stss", 0, 0, ...list(samples.syncs())));
  if (samples.shifted) tables.push(fullBox("ctts", 0, 0, ...createRunTables(samples.shifts(), delay)));
  tables.push(fullBox("stsc", 0, 0, ...list(createChunkRuns(chunks), 3)));
  tables.push(fullBox("stsz", 0, 0, u32(0), ...list(samples.sizes())));
  return trackBox(header, {
    duration,
    mediaDuration: samples.end - samples.start,
    edits: createEditList(header, samples, duration, delay),
    tables: [...tables, offsets],
  });
}

/** The first sample is decoded at 0; a later start of the track becomes an empty edit. */
function createEditList(header: TrackHeader, samples: SampleLog, duration: number, delay: number): BufferList {
  const { timescale } = header;
  const priming = primingOf(header);
  const from = Math.max(0, samples.presentationRange().from - priming);
  const emptyMs = Math.round((from / timescale) * MS_PER_SECOND);
  const first = from + priming - samples.start + delay;
  return editListBox(...(emptyMs > 0 ? [[emptyMs, -1] as const] : []), [duration - emptyMs, first]);
}

/** Writes a count and big-endian numbers, `width` per entry. Swaps the byte order in place. */
function list(numbers: Uint32Array, width = 1): Buffer[] {
  return [u32(numbers.length / width), Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).swap32()];
}

function createRunTables(pairs: Uint32Array | Int32Array, more = 0): Buffer[] {
  const numbers = Uint32Array.from(pairs);
  if (more !== 0) for (let i = 1; i < numbers.length; i += 2) numbers[i] = pairs[i]! + more;
  return list(numbers, 2);
}

/** ISO 14496-12, 8.7.4: one entry for each chunk whose sample count differs from that of the previous chunk. */
function createChunkRuns(chunks: readonly SampleChunk[]): Uint32Array {
  const entries: number[] = [];
  for (const [i, { count }] of chunks.entries()) if (count !== entries.at(-2)) entries.push(i + 1, count, 1);
  return Uint32Array.from(entries);
}
