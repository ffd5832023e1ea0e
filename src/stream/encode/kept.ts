import type { Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { segmentKey } from "./port.ts";

/** Segments that are kept, whoever made them. The first one of a place stays: viewers may have it already. */
export interface Kept {
  open(uid: string, rendition: string, n: number | "init"): Promise<ObjectHandle | undefined>;
  /** True: it is there, as far as this process remembers; false says nothing. */
  remembers(uid: string, rendition: string, n: number | "init"): boolean;
  /** Segments of the row that are not there. */
  missing(uid: string, rendition: string, segments: readonly number[]): Promise<number[]>;
  /** Throws VideoGone when the video is deleted meanwhile: then nothing stays behind. */
  keep(uid: string, rendition: string, n: number | "init", bytes: Buffer): Promise<void>;
}

export interface KeptParts {
  objects: ObjectStore;
  log: Log;
  isThere: (uid: string) => Promise<boolean>;
  /** Told of everything that is kept here, or was already, once it is on the disk. */
  onKept: (uid: string, rendition: string, n: number | "init") => void;
}

export class VideoGone extends Error {
  override readonly name = "VideoGone";
}

/** An encoder of another version or other options was here before: its segments and ours do not go together. */
export class InitDiffers extends Error {
  override readonly name = "InitDiffers";
}

/** Some megabytes of names: what every viewer of the last hours has asked for. */
const MOST_REMEMBERED = 50_000;

export function createKept({ objects, log, isThere, onKept }: KeptParts): Kept {
  const remembered = new Set<string>();

  function remember(key: string) {
    remembered.delete(key);
    remembered.add(key);
    if (remembered.size > MOST_REMEMBERED) remembered.delete(remembered.values().next().value!);
  }

  async function open(uid: string, rendition: string, n: number | "init") {
    const key = segmentKey(uid, rendition, n);
    const handle = await objects.open(key);
    if (handle !== undefined) remember(key);
    return handle;
  }

  return {
    open,
    remembers: (uid, rendition, n) => remembered.has(segmentKey(uid, rendition, n)),
    async missing(uid, rendition, segments) {
      const absent: number[] = [];
      for (const n of segments) if ((await open(uid, rendition, n)) === undefined) absent.push(n);
      return absent;
    },
    async keep(uid, rendition, n, bytes) {
      const key = segmentKey(uid, rendition, n);
      const before = await open(uid, rendition, n);
      if (before !== undefined) {
        if (n !== "init" || bytes.equals(await before.bytes())) return onKept(uid, rendition, n);
        log.error(
          { video: uid, rendition },
          "the encoder makes another initialisation segment than the one that is kept; was ffmpeg replaced while the video was encoded?",
        );
        throw new InitDiffers(`the initialisation segment of ${rendition} differs from the one that is kept`);
      }
      await objects.put(key, bytes);
      // Asked after it was put: who deletes a video removes its row first, and everything that lies there then.
      if (!(await isThere(uid))) {
        await objects.delete([key]);
        throw new VideoGone(`the video ${uid} was deleted`);
      }
      remember(key);
      onKept(uid, rendition, n);
    },
  };
}
