import type { TrackSegment } from "./track.ts";

/** The most recent segments of every rendition of a broadcast, with their octets. */
export interface RecentSegments {
  /** Segments of this rendition in order, including the one in progress. */
  of(rendition: string): readonly TrackSegment[];
  find(rendition: string, n: number): TrackSegment | undefined;
  /** Adds or updates a segment. */
  put(rendition: string, segment: TrackSegment): void;
  /** Drops the oldest listed segments beyond the limits. */
  trim(listedCount: number): void;
}

/** Enough for players at the usual distance from the live edge; older segments are read from storage. */
const KEPT_SECONDS = 24;
const MIN_KEPT_SEGMENTS = 4;
/**
 * Maximum octets of one broadcast in all renditions. Slightly more is allowed if nothing is listed: unlisted segments
 * must not be lost.
 */
const MAX_BYTES = 96 * 1024 * 1024;

export function createRecentSegments(): RecentSegments {
  const segmentsByRendition = new Map<string, TrackSegment[]>();

  return {
    of: (rendition) => segmentsByRendition.get(rendition) ?? [],
    find: (rendition, n) => segmentsByRendition.get(rendition)?.findLast((segment) => segment.n === n),
    put(rendition, segment) {
      const segments = segmentsByRendition.getOrInsertComputed(rendition, () => []);
      if (segments.at(-1) !== segment && !segments.includes(segment)) segments.push(segment);
    },
    trim(listedCount) {
      let bytes = [...segmentsByRendition.values()].flat().reduce((sum, trackSegment) => sum + sizeOf(trackSegment), 0);
      for (const segments of segmentsByRendition.values()) {
        let seconds = segments.reduce((sum, { duration }) => sum + duration, 0);
        while (segments.length > MIN_KEPT_SEGMENTS && segments[0]!.n < listedCount && segments[0]!.isComplete) {
          const [{ duration }] = segments as [TrackSegment];
          if (seconds - duration < KEPT_SECONDS && bytes <= MAX_BYTES) break;
          seconds -= duration;
          bytes -= sizeOf(segments.shift()!);
        }
      }
    },
  };
}

const sizeOf = ({ parts }: TrackSegment) => parts.reduce((sum, { size }) => sum + size, 0);
