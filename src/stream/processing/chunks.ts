import type { ObjectStore } from "../../store/index.ts";
import type { MediaModel } from "../model.ts";

/** Segments per background run: enough to make starting and seeking inexpensive, but few enough to lose little. */
const CHUNK_SEGMENTS = 8;

export const chunkCount = ({ segments: { count } }: Pick<MediaModel, "segments">): number =>
  Math.ceil(count / CHUNK_SEGMENTS);

/** The segments of `chunk`. */
export function chunkSegments({ segments: { count } }: Pick<MediaModel, "segments">, chunk: number): number[] {
  const first = chunk * CHUNK_SEGMENTS;
  return Array.from({ length: Math.max(0, Math.min(CHUNK_SEGMENTS, count - first)) }, (_, i) => first + i);
}

/** Number of segments in a chunk, across all renditions. */
export const chunkWork = (model: MediaModel, chunk: number): number =>
  chunkSegments(model, chunk).length * renditionCount(model);
export const allWork = (model: MediaModel): number => model.segments.count * renditionCount(model);
const renditionCount = ({ ladder, audio }: MediaModel) => ladder.length + (audio === undefined ? 0 : 1);

/**
 * Encoding order of the chunks of all videos: early chunks first, with priority differences that decrease for later
 * ones. A short video does not wait for the end of a long one; two long ones alternate.
 */
export const chunkPriority = (chunk: number): number => -Math.floor(Math.log2(chunk + 1));

/**
 * Completed chunks, stored as empty objects alongside the segments: they are visible to every machine, and deleted with
 * the video.
 */
interface Checkpoints {
  done(uid: string): Promise<Set<number>>;
  mark(uid: string, chunk: number): Promise<void>;
  /** Called when they are no longer needed. */
  clear(uid: string): Promise<void>;
}

export function createCheckpoints(objects: Pick<ObjectStore, "list" | "put" | "delete">): Checkpoints {
  const folder = (uid: string) => `stream/${uid}/chunks/`;

  async function done(uid: string): Promise<Set<number>> {
    const chunks = new Set<number>();
    for await (const { key } of objects.list(folder(uid))) chunks.add(Number(key.slice(folder(uid).length)));
    return chunks;
  }

  return {
    done,
    mark: async (uid, chunk) => void (await objects.put(`${folder(uid)}${chunk}`, new Uint8Array())),
    clear: async (uid) => objects.delete([...(await done(uid))].map((chunk) => `${folder(uid)}${chunk}`)),
  };
}
