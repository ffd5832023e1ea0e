import {
  locateMovie,
  type Movie,
  Mp4Error,
  placementOf,
  readMovie,
  type Track,
  iterateSamples,
} from "../../protocol/mp4/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { FileDescription, StreamDescription } from "./describe.ts";
import { malformedFileError } from "./refused.ts";
import { createTrackScanner, type TrackScan } from "./track-scan.ts";
import type { ChosenTracks } from "./tracks.ts";

export interface Scan {
  video?: TrackScan;
  audio?: TrackScan;
  /**
   * True if taken from the index of an mp4 file that lists all samples of both tracks; segments can then be cut by it.
   */
  indexed: boolean;
}

/**
 * Resolves with the packets listed in the index of an mp4 file, without reading the packets; omits those beyond the end
 * of a truncated file. Undefined if the index is incomplete or unreliable: fragments, edits that repeat or reorder,
 * contradictory tables.
 */
export async function scanIndex(
  source: ObjectHandle,
  description: FileDescription,
  { video, audio }: ChosenTracks,
): Promise<Scan | undefined> {
  try {
    const { movie: bytes, fragmented } = await locateMovie(
      (start, length) => read(source, start, length),
      source.size,
      { allowTruncated: true },
    );
    const movie = readMovie(bytes);
    const tracks = [video, audio].map((stream) => stream && findTrack(movie, stream));
    if (tracks.some((track) => track?.descriptions.some(isEncrypted) === true))
      throw malformedFileError("It is encrypted.");
    if (fragmented || movie.extends) return undefined;
    const scans = tracks.map((track) => track && scanTrack(track, movie, source.size, description.start));
    if ([video, audio].some((stream, i) => stream !== undefined && scans[i] === undefined)) return undefined;
    const [videoScan, audioScan] = scans;
    return {
      ...(videoScan?.scan && { video: videoScan.scan }),
      ...(audioScan?.scan && { audio: audioScan.scan }),
      indexed: scans.every((trackScan) => trackScan?.whole !== false),
    };
  } catch (err) {
    // ffprobe can read more than this parser, so it is left to report errors in the file.
    if (err instanceof Mp4Error) return undefined;
    throw err;
  }
}

async function read(source: ObjectHandle, start: number, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  if (length <= 0 || start >= source.size) return Buffer.alloc(0);
  for await (const piece of source.read({ start, end: Math.min(start + length, source.size) - 1 }))
    pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** ISO 14496-12 8.12: a sample entry that replaces another one. ffmpeg reports only the original. */
const isEncrypted = (description: Buffer) => ["encv", "enca"].includes(description.toString("latin1", 4, 8));

const findTrack = ({ tracks }: Movie, { id }: StreamDescription) => tracks.find((track) => track.id === id);

function scanTrack(
  track: Track,
  movie: Movie,
  size: number,
  origin: number,
): { scan: TrackScan | undefined; whole: boolean } | undefined {
  const placement = placementOf(track, movie);
  if (placement === undefined || !track.selfContained || track.descriptions.length !== 1) return undefined;
  const walk = iterateSamples(track.samples());
  if (walk === undefined) return undefined;
  const scanner = createTrackScanner();
  let isWhole = true;
  do {
    isWhole = walk.offset + walk.size <= size;
    const presentationTime = walk.time + walk.shift - placement.offset;
    // Outside the edit: possibly decoded, but not shown.
    if (!isWhole || presentationTime + walk.duration <= 0 || presentationTime >= placement.end) continue;
    scanner.add({
      pts: Math.max(0, presentationTime),
      dts: walk.time,
      duration: Math.min(presentationTime + walk.duration, placement.end) - Math.max(0, presentationTime),
      octets: walk.size,
      key: walk.sync,
    });
    // A sequential reader stops at the first missing packet.
  } while (isWhole && walk.next());
  return { scan: scanner.result(1 / track.timescale, origin), whole: isWhole };
}
