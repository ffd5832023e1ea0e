import type { MediaModel } from "../model.ts";

/** Segments per background run: enough to make starting and seeking inexpensive, but few enough to lose little. */
const CHUNK_SEGMENTS = 8;

export const chunkCount = ({ segments: { count } }: Pick<MediaModel, "segments">): number =>
  Math.ceil(count / CHUNK_SEGMENTS);

/** Returns the segments of `chunk`. */
export function chunkSegments({ segments: { count } }: Pick<MediaModel, "segments">, chunk: number): number[] {
  const first = chunk * CHUNK_SEGMENTS;
  return Array.from({ length: Math.max(0, Math.min(CHUNK_SEGMENTS, count - first)) }, (_, i) => first + i);
}

/** Returns the number of segments in a chunk, across all renditions. */
export const chunkWork = (model: MediaModel, chunk: number): number =>
  chunkSegments(model, chunk).length * renditionCount(model);
export const allWork = (model: MediaModel): number => model.segments.count * renditionCount(model);
const renditionCount = ({ ladder, audio }: MediaModel) => ladder.length + (audio === undefined ? 0 : 1);

/**
 * Encoding order of the chunks of all videos: early chunks first, with priority differences that decrease for later
 * ones. A short video does not wait for the end of a long one; two long ones alternate.
 */
export const chunkPriority = (chunk: number): number => -Math.floor(Math.log2(chunk + 1));
