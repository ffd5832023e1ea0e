import { buffer } from "node:stream/consumers";
import {
  createSampleLog,
  readFragments,
  readInit,
  writeMovie,
  type SampleChunk,
  type WrittenTrack,
} from "../../protocol/mp4/index.ts";
import type { SegmentBytes } from "../playback/index.ts";
import type { RenditionSource } from "./rendition-source.ts";

interface MuxOptions {
  /** In track order. */
  renditions: readonly RenditionSource[];
  kind: "isom" | "M4A ";
  /** Opens a segment, waiting for a busy encoder. */
  open(rendition: RenditionSource, segment: number | "init"): Promise<SegmentBytes>;
  /** Share of segments read so far, from 0 to 1. */
  onIndexProgress?: (share: number) => void;
  signal: AbortSignal;
}

interface MuxedFile {
  size: number;
  /** Yields the whole file; segments are read one after the other. */
  body(onRead?: (share: number) => void): AsyncGenerator<Uint8Array, void>;
}

/** Consecutive bytes of a segment that are copied into the file. */
interface SegmentCopy {
  track: number;
  segment: number;
  /** Size of the segment, to detect that it was replaced. */
  size: number;
  ranges: { start: number; end: number }[];
}

interface Track {
  written: WrittenTrack;
  chunks: SampleChunk[];
  /** The next segment, and the number of segments. */
  next: number;
  count: number;
}

/**
 * Muxes the segments of several renditions into one file with its index first. All segment headers are read for the
 * index, then the samples are copied unchanged: memory is needed only for the index, a few dozen megabytes for ten
 * hours. Nothing is encoded here. Throws Mp4Error.
 */
export async function muxFile({
  renditions,
  kind,
  open: openSegment,
  onIndexProgress,
  signal,
}: MuxOptions): Promise<MuxedFile> {
  const tracks = await Promise.all(renditions.map((rendition, i) => openTrack(rendition, i + 1, openSegment)));
  const copies: SegmentCopy[] = [];
  const steps = renditions.reduce((sum, { count }) => sum + count, 0);
  let mediaBytes = 0;
  // Each segment is a chunk, interleaved by time: segments of different renditions may differ in length.
  for (let step = 1; step <= steps; step++) {
    const track = earliestTrackIndex(tracks);
    signal.throwIfAborted();
    const segment = tracks[track]!.next++;
    const bytes = await openSegment(renditions[track]!, segment);
    const { ranges, count, octets } = await addSamples(bytes, tracks[track]!);
    if (count > 0) tracks[track]!.chunks.push({ offset: mediaBytes, count });
    mediaBytes += octets;
    copies.push({ track, segment, size: bytes.size, ranges });
    onIndexProgress?.(step / steps);
  }
  const head = writeMovie(
    tracks.map(({ written }) => written),
    mediaBytes,
    kind,
  );
  const size = head.reduce((sum, { length }) => sum + length, mediaBytes);

  async function* body(onRead?: (share: number) => void) {
    yield* head;
    let done = 0;
    for (const { track, segment, size, ranges } of copies) {
      signal.throwIfAborted();
      const bytes = await openSegment(renditions[track]!, segment);
      if (bytes.size !== size)
        throw new Error(`segment ${segment} of ${renditions[track]!.name} changed while it was written into a file`);
      for (const { start, end } of ranges) yield* bytes.read({ start, end: end - 1 }) as AsyncIterable<Buffer>;
      onRead?.(++done / copies.length);
    }
  }

  return { size, body };
}

async function openTrack(rendition: RenditionSource, id: number, openSegment: MuxOptions["open"]): Promise<Track> {
  const init = await openSegment(rendition, "init");
  const header = { id, ...(await readInit(await buffer(init.read()))) };
  const chunks: SampleChunk[] = [];
  return { written: { header, samples: createSampleLog(), chunks }, chunks, next: 0, count: rendition.count };
}

/** Returns the index of the unfinished track with the earliest time. */
function earliestTrackIndex(tracks: readonly Track[]): number {
  const secondsOf = ({ written: { header, samples }, next, count }: Track) =>
    next === count ? Infinity : samples.end / header.timescale;
  return tracks.reduce(
    (earliestSoFar, track, i) => (secondsOf(track) < secondsOf(tracks[earliestSoFar]!) ? i : earliestSoFar),
    0,
  );
}

async function addSamples(bytes: SegmentBytes, { written }: Track) {
  const fragments = await readFragments((start, length) => readSome(bytes, start, length), bytes.size);
  let count = 0;
  let octets = 0;
  // Audio keeps its priming samples; the file's edit list removes them, as in the segments.
  const delay = written.header.handler === "vide" ? (written.header.delay ?? 0) : 0;
  for (const fragment of fragments) {
    // Removes the shift that the initialization segment's edit list cancels, because the file gets its own edit list.
    written.samples.add(
      delay === 0 ? fragment : { ...fragment, shifts: fragment.shifts.map((shift) => shift - delay) },
    );
    count += fragment.count;
    octets += fragment.dataSize;
  }
  return {
    count,
    octets,
    ranges: fragments
      .filter(({ dataSize }) => dataSize > 0)
      .map(({ dataStart, dataSize }) => ({ start: dataStart, end: dataStart + dataSize })),
  };
}

const readSome = async (bytes: SegmentBytes, start: number, length: number): Promise<Buffer> =>
  buffer(bytes.read({ start, end: Math.min(start + length, bytes.size) - 1 }));
