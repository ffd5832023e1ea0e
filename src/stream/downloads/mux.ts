import { buffer } from "node:stream/consumers";
import {
  createSampleLog,
  readFragments,
  readInit,
  writeMovie,
  type Chunk,
  type WrittenTrack,
} from "../../protocol/mp4/index.ts";
import type { SegmentBytes } from "../playback/index.ts";
import type { RenditionSource } from "./rendition-source.ts";

export interface MuxOptions {
  /** In the order of the tracks. */
  renditions: readonly RenditionSource[];
  kind: "isom" | "M4A ";
  /** Asks for a segment, and has patience. */
  open(rendition: RenditionSource, segment: number | "init"): Promise<SegmentBytes>;
  /** From 0 to 1: segments that have been seen. */
  onSeen?: (share: number) => void;
  signal: AbortSignal;
}

export interface MuxedFile {
  size: number;
  /** From its first octet to the last; segments are read one after the other. */
  body(onRead?: (share: number) => void): AsyncGenerator<Uint8Array, void>;
}

/** Octets of a segment that go into the file, one after the other. */
interface Taken {
  track: number;
  segment: number;
  /** Of the segment, so that another one in its place is noticed. */
  size: number;
  ranges: { start: number; end: number }[];
}

interface Track {
  written: WrittenTrack;
  chunks: Chunk[];
  /** Segment that comes next, of so many. */
  next: number;
  count: number;
}

/**
 * One file of the segments of some renditions, with its index first. The heads of all segments are read for the index, and then their samples,
 * as they are: memory is for the index only, some dozens of megabytes for ten hours. Nothing is encoded here. Throws Mp4Error.
 */
export async function muxFile({ renditions, kind, open, onSeen, signal }: MuxOptions): Promise<MuxedFile> {
  const tracks = await Promise.all(renditions.map((rendition, i) => openTrack(rendition, i + 1, open)));
  const taken: Taken[] = [];
  const steps = renditions.reduce((sum, { count }) => sum + count, 0);
  let mediaBytes = 0;
  // Each segment is a chunk, and those of one time lie near each other: segments of different renditions may differ in length.
  for (let step = 1; step <= steps; step++) {
    const track = earliest(tracks);
    signal.throwIfAborted();
    const segment = tracks[track]!.next++;
    const bytes = await open(renditions[track]!, segment);
    const { ranges, count, octets } = await takeSamples(bytes, tracks[track]!);
    if (count > 0) tracks[track]!.chunks.push({ offset: mediaBytes, count });
    mediaBytes += octets;
    taken.push({ track, segment, size: bytes.size, ranges });
    onSeen?.(step / steps);
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
    for (const { track, segment, size, ranges } of taken) {
      signal.throwIfAborted();
      const bytes = await open(renditions[track]!, segment);
      if (bytes.size !== size)
        throw new Error(`segment ${segment} of ${renditions[track]!.name} changed while it was written into a file`);
      for (const { start, end } of ranges) yield* bytes.read({ start, end: end - 1 }) as AsyncIterable<Buffer>;
      onRead?.(++done / taken.length);
    }
  }

  return { size, body };
}

async function openTrack(rendition: RenditionSource, id: number, open: MuxOptions["open"]): Promise<Track> {
  const init = await open(rendition, "init");
  const header = { id, ...(await readInit(await buffer(init.read()))) };
  const chunks: Chunk[] = [];
  return { written: { header, samples: createSampleLog(), chunks }, chunks, next: 0, count: rendition.count };
}

/** The track that has come least far, of those that have more. */
function earliest(tracks: readonly Track[]): number {
  const secondsOf = ({ written: { header, samples }, next, count }: Track) =>
    next === count ? Infinity : samples.end / header.timescale;
  return tracks.reduce((least, track, i) => (secondsOf(track) < secondsOf(tracks[least]!) ? i : least), 0);
}

async function takeSamples(bytes: SegmentBytes, { written }: Track) {
  const fragments = await readFragments((start, length) => readSome(bytes, start, length), bytes.size);
  let count = 0;
  let octets = 0;
  // Audio keeps its priming samples, and the file removes them as the segments do.
  const delay = written.header.handler === "vide" ? (written.header.delay ?? 0) : 0;
  for (const fragment of fragments) {
    // Remove the shift that the initialisation segment's edit list cancels: the file gets its own edit list.
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
