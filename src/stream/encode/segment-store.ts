import { hash } from "node:crypto";
import type { Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { segmentKey } from "./port.ts";

/** Encoded segments in the object store. A stored segment is never replaced: viewers may have it already. */
export interface SegmentStore {
  open(uid: string, rendition: string, n: number | "init"): Promise<ObjectHandle | undefined>;
  /** True if this process has found the segment stored. False means unknown. */
  isKnownStored(uid: string, rendition: string, n: number | "init"): boolean;
  /** Returns the subset of `segments` that is not stored. */
  missing(uid: string, rendition: string, segments: readonly number[]): Promise<number[]>;
  /** Throws VideoDeleted, and stores nothing, if the video was deleted. */
  put(uid: string, rendition: string, n: number | "init", bytes: Buffer): Promise<void>;
}

interface SegmentStoreDeps {
  objects: ObjectStore;
  log: Log;
  videoExists: (uid: string) => Promise<boolean>;
  /**
   * Called for every segment once it is durably stored, including segments that were already stored. `bytes`: those of
   * the object, unless it was already stored.
   */
  onStored: (uid: string, rendition: string, n: number | "init", bytes?: Buffer) => void;
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
const MAX_REMEMBERED_INITS = 5000;

export function createSegmentStore({ objects, log, videoExists, onStored }: SegmentStoreDeps): SegmentStore {
  const knownKeys = new Set<string>();
  /** SHA-256 digests of the stored initialization segments, by key. */
  const initDigests = new Map<string, string>();

  function remember(key: string) {
    knownKeys.delete(key);
    knownKeys.add(key);
    if (knownKeys.size > MAX_REMEMBERED) knownKeys.delete(knownKeys.values().next().value!);
  }

  function rememberStored(key: string, initDigest: string | undefined) {
    remember(key);
    if (initDigest === undefined) return;
    initDigests.delete(key);
    initDigests.set(key, initDigest);
    if (initDigests.size > MAX_REMEMBERED_INITS) initDigests.delete(initDigests.keys().next().value!);
  }

  async function compareInit(key: string, rendition: string, bytes: Buffer): Promise<void> {
    const stored = await objects.open(key);
    // It is undefined if the video was deleted in the meantime.
    if (stored === undefined || bytes.equals(await stored.bytes())) return;
    log.error(
      { key },
      "stream: initialization segment differs from the stored one; ffmpeg may have been replaced during encoding",
    );
    throw new InitMismatch(`the initialization segment of ${rendition} differs from the stored one`);
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
      const handles = await Promise.all(segments.map((n) => open(uid, rendition, n)));
      return segments.filter((_, index) => handles[index] === undefined);
    },
    async put(uid, rendition, n, bytes) {
      const key = segmentKey(uid, rendition, n);
      // Every run creates the initialization segment again.
      const digest = n === "init" ? hash("sha256", bytes, "hex") : undefined;
      if (digest !== undefined && initDigests.get(key) === digest) return onStored(uid, rendition, n);
      const { isExisting = false } = await objects.put(key, bytes, { ifAbsent: true });
      if (isExisting) {
        if (digest !== undefined) await compareInit(key, rendition, bytes);
        rememberStored(key, digest);
        return onStored(uid, rendition, n);
      }
      // Checked after the write: a deletion removes the row first, then the objects.
      if (!(await videoExists(uid))) {
        await objects.delete([key]);
        throw new VideoDeleted(`the video ${uid} was deleted`);
      }
      rememberStored(key, digest);
      onStored(uid, rendition, n, bytes);
    },
  };
}
