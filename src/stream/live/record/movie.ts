import { buffer } from "node:stream/consumers";
import {
  createSampleLog,
  Mp4Error,
  readAac,
  readAvc,
  readFragments,
  readInit,
  writeMovie,
  type SampleChunk,
  type TrackHeader,
  type WrittenTrack,
} from "../../../protocol/mp4/index.ts";
import type { StoredSegment } from "./port.ts";

/** Segments of one run to include in a file, in order. */
export interface MoviePart {
  run: string;
  tracks: MovieTrack[];
}

export interface MovieTrack {
  kind: "video" | "audio";
  rendition: string;
  /** Numbers of the segments. */
  segments: number[];
}

export interface JoinMovieOptions {
  parts: readonly MoviePart[];
  stored(rendition: string, segmentOrRun: number | { run: string }): Promise<StoredSegment | undefined>;
  signal: AbortSignal;
}

interface JoinedMovie {
  size: number;
  /** Seconds. */
  duration: number;
  /** Most common frame rate; 0 without video. */
  fps: number;
  /** Yields the whole file; segments are read one after the other. */
  body(): AsyncGenerator<Uint8Array, void>;
}

interface OpenTrack extends WrittenTrack {
  header: TrackHeader;
  chunks: SampleChunk[];
}

/** Octet ranges of one segment to include in the file. */
interface IncludedSegment {
  rendition: string;
  n: number;
  size: number;
  ranges: { start: number; end: number }[];
}

/** Encoder clocks are rounded: a fragment may overlap the previous one by this much. */
const OVERLAP_S = 0.05;

/**
 * Writes one file with its index first, from unmodified segments: each run begins where the previous one ends, without
 * the gap. All parts must have the same codec configuration (`decoderHeaders`). Only the index is held in memory.
 * Throws Mp4Error.
 */
export async function joinMovie({ parts, stored, signal }: JoinMovieOptions): Promise<JoinedMovie> {
  const tracks = new Map<MovieTrack["kind"], OpenTrack>();
  const includedSegments: IncludedSegment[] = [];
  let mediaBytes = 0;

  const openPiece = async (rendition: string, segmentOrRun: number | { run: string }) => {
    signal.throwIfAborted();
    const piece = await stored(rendition, segmentOrRun);
    if (piece === undefined)
      throw new Mp4Error(
        `segment ${typeof segmentOrRun === "number" ? segmentOrRun : "init"} of ${rendition} is missing`,
      );
    return piece;
  };

  for (const part of parts) {
    const offset = endOf(tracks.values());
    for (const { kind } of part.tracks)
      if (!tracks.has(kind)) tracks.set(kind, await openTrack(part, kind, tracks.size + 1));
    /** Time on the run timeline that corresponds to `offset`, in seconds: the start of the earliest track. */
    const base = Math.min(
      ...(await Promise.all(
        part.tracks.map(async ({ kind, rendition, segments: [first] }) => {
          const [fragment] = await fragmentsOf(await openPiece(rendition, first!));
          return fragment === undefined ? Infinity : fragment.time / tracks.get(kind)!.header.timescale;
        }),
      )),
    );
    for (const { rendition, n, kind } of orderedTracks(part)) {
      const {
        header: { timescale },
        samples,
        chunks,
      } = tracks.get(kind)!;
      const piece = await openPiece(rendition, n);
      const fragments = await fragmentsOf(piece);
      let count = 0;
      let octets = 0;
      for (const fragment of fragments) {
        let time = Math.max(0, Math.round((offset + fragment.time / timescale - base) * timescale));
        if (samples.count > 0 && time < samples.end && samples.end - time < OVERLAP_S * timescale) time = samples.end;
        samples.add({ ...fragment, time });
        count += fragment.count;
        octets += fragment.dataSize;
      }
      if (count > 0) chunks.push({ offset: mediaBytes, count });
      mediaBytes += octets;
      includedSegments.push({
        rendition,
        n,
        size: piece.size,
        ranges: fragments
          .map(({ dataStart, dataSize }) => ({ start: dataStart, end: dataStart + dataSize }))
          .filter(({ start, end }) => end > start),
      });
    }
  }

  async function openTrack(
    { run, tracks: partTracks }: MoviePart,
    kind: MovieTrack["kind"],
    id: number,
  ): Promise<OpenTrack> {
    const { rendition } = partTracks.find((track) => track.kind === kind)!;
    return {
      header: { id, ...(await readInit(await (await openPiece(rendition, { run })).bytes())) },
      samples: createSampleLog(),
      chunks: [],
    };
  }

  const writtenTracks = [...tracks.values()].filter(({ samples }) => samples.count > 0);
  const head = writeMovie(writtenTracks, mediaBytes, "isom");

  async function* body() {
    yield* head;
    for (const { rendition, n, size, ranges } of includedSegments) {
      const piece = await openPiece(rendition, n);
      if (piece.size !== size)
        throw new Mp4Error(`segment ${n} of ${rendition} changed while it was written into a file`);
      for (const { start, end } of ranges) yield* piece.read({ start, end: end - 1 }) as AsyncIterable<Buffer>;
    }
  }

  return {
    size: head.reduce((sum, { length }) => sum + length, mediaBytes),
    duration: endOf(writtenTracks),
    fps: rateOf(tracks.get("video")),
    body,
  };
}

const fragmentsOf = (piece: StoredSegment) =>
  readFragments(
    async (start, length) => buffer(piece.read({ start, end: Math.min(start + length, piece.size) - 1 })),
    piece.size,
  );

const endOf = (tracks: Iterable<WrittenTrack>) =>
  Math.max(0, ...[...tracks].map(({ header, samples }) => samples.end / header.timescale));

/** Derived from the most common frame duration: publishers use millisecond timestamps and skip frames. */
function rateOf(track: WrittenTrack | undefined): number {
  if (track === undefined) return 0;
  const pairs = track.samples.durations();
  const counts = new Map<number, number>();
  for (let i = 0; i < pairs.length; i += 2) counts.set(pairs[i + 1]!, (counts.get(pairs[i + 1]!) ?? 0) + pairs[i]!);
  const [usualDuration = 0] = [...counts].reduce(
    (mostCommon, countEntry) => (countEntry[1] > (mostCommon[1] ?? 0) ? countEntry : mostCommon),
    [0, 0] as [number, number],
  );
  return usualDuration === 0 ? 0 : track.header.timescale / usualDuration;
}

/** Interleaves segments with the same number, because they cover the same seconds. */
function orderedTracks({ tracks }: MoviePart): { kind: MovieTrack["kind"]; rendition: string; n: number }[] {
  return tracks
    .flatMap(({ kind, rendition, segments }) => segments.map((n) => ({ kind, rendition, n })))
    .toSorted((a, b) => a.n - b.n);
}

/** Decoder configuration of all renditions: parts with equal headers can share a file. */
export async function decoderHeaders({ run, tracks }: MoviePart, stored: JoinMovieOptions["stored"]): Promise<string> {
  const headers = await Promise.all(
    tracks.map(async ({ kind, rendition }) => {
      const piece = await stored(rendition, { run });
      if (piece === undefined) throw new Mp4Error(`the initialization segment of ${rendition} is missing`);
      const { timescale, description, width, height } = await readInit(await piece.bytes());
      return [kind, timescale, configOf(description), width, height];
    }),
  );
  return JSON.stringify(headers);
}

/** Returns only the fields that decoders use. Bitrate boxes differ between runs. */
function configOf(description: Buffer): string {
  const aac = readAac(description);
  if (aac !== undefined) return `${aac.codecs} ${aac.sampleRate} ${aac.channels}`;
  return (readAvc(description)?.entry ?? description).toString("base64");
}
