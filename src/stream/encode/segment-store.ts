import type { Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { segmentKey } from "./port.ts";

/** Encoded segments in the object store. A stored segment is never replaced: viewers may have it already. */
export interface SegmentStore {
  open(uid: string, rendition: string, n: number | "init"): Promise<ObjectHandle | undefined>;
  /** True if this process has found the segment stored. False means unknown. */
  isKnownStored(uid: string, rendition: string, n: number | "init"): boolean;
  /** The subset of `segments` that is not stored. */
  missing(uid: string, rendition: string, segments: readonly number[]): Promise<number[]>;
  /** Throws VideoDeleted, and stores nothing, if the video was deleted. */
  put(uid: string, rendition: string, n: number | "init", bytes: Buffer): Promise<void>;
}

interface SegmentStoreDeps {
  objects: ObjectStore;
  log: Log;
  videoExists: (uid: string) => Promise<boolean>;
  /** Called for every segment once it is durably stored, including segments that were already stored. */
  onStored: (uid: string, rendition: string, n: number | "init") => void;
}

export class VideoDeleted extends Error {
  override readonly name = "VideoDeleted";
}

/** An encoder of another version or with other options wrote the stored segments; new ones would not match them. */
export class InitMismatch extends Error {
  override readonly name = "InitMismatch";
}

/** A few megabytes of keys: the segments that viewers requested in recent hours. */
const MAX_REMEMBERED = 50_000;

export function createSegmentStore({ objects, log, videoExists, onStored }: SegmentStoreDeps): SegmentStore {
  const knownKeys = new Set<string>();

  function remember(key: string) {
    knownKeys.delete(key);
    knownKeys.add(key);
    if (knownKeys.size > MAX_REMEMBERED) knownKeys.delete(knownKeys.values().next().value!);
  }

  async function open(uid: string, rendition: string, n: number | "init") {
    const key = segmentKey(uid, rendition, n);
    const handle = await objects.open(key);
    if (handle !== undefined) remember(key);
    return handle;
  }

  return {
    open,
    isKnownStored: (uid, rendition, n) => knownKeys.has(segmentKey(uid, rendition, n)),
    async missing(uid, rendition, segments) {
      const missingSegments: number[] = [];
      for (const n of segments) if ((await open(uid, rendition, n)) === undefined) missingSegments.push(n);
      return missingSegments;
    },
    async put(uid, rendition, n, bytes) {
      const key = segmentKey(uid, rendition, n);
      const before = await open(uid, rendition, n);
      if (before !== undefined) {
        if (n !== "init" || bytes.equals(await before.bytes())) return onStored(uid, rendition, n);
        log.error(
          { video: uid, rendition },
          "stream: initialization segment differs from the stored one; was ffmpeg replaced during encoding?",
        );
        throw new InitMismatch(`the initialization segment of ${rendition} differs from the stored one`);
      }
      await objects.put(key, bytes);
      // Checked after the write: a deletion removes the row first, then the objects.
      if (!(await videoExists(uid))) {
        await objects.delete([key]);
        throw new VideoDeleted(`the video ${uid} was deleted`);
      }
      remember(key);
      onStored(uid, rendition, n);
    },
  };
}
