import type { ObjectStore } from "../../store/index.ts";
import type { MediaModel } from "../model.ts";

/** Segments of one background run: long enough that starting and seeking cost next to nothing, short enough to lose little. */
export const CHUNK_SEGMENTS = 8;

export const chunkCount = ({ segments: { count } }: Pick<MediaModel, "segments">): number =>
  Math.ceil(count / CHUNK_SEGMENTS);

/** The segments of chunk `c`. */
export function chunkSegments({ segments: { count } }: Pick<MediaModel, "segments">, chunk: number): number[] {
  const first = chunk * CHUNK_SEGMENTS;
  return Array.from({ length: Math.max(0, Math.min(CHUNK_SEGMENTS, count - first)) }, (_, i) => first + i);
}

/** How many segments a chunk has, those of all renditions counted. */
export const chunkWork = (model: MediaModel, chunk: number): number =>
  chunkSegments(model, chunk).length * renditionCount(model);
export const allWork = (model: MediaModel): number => model.segments.count * renditionCount(model);
const renditionCount = ({ ladder, audio }: MediaModel) => ladder.length + (audio === undefined ? 0 : 1);

/**
 * In which order chunks of all videos are made: the beginnings first, and the later a chunk, the less it matters by how much. A short video does not
 * wait for the end of a long one, two long ones take turns.
 */
export const chunkPriority = (chunk: number): number => -Math.floor(Math.log2(chunk + 1));

/** Chunks that are done, kept as empty objects beside the segments: any machine sees them, and they go when the video goes. */
export interface Checkpoints {
  done(uid: string): Promise<Set<number>>;
  mark(uid: string, chunk: number): Promise<void>;
  /** When nobody asks any more. */
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
