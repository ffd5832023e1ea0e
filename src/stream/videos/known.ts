import type { Clock } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { Video } from "./video.ts";

/** Published on every change of a row; the id is the uid. */
export const VIDEO_CHANGED = "stream.video";

interface VideoCache {
  find(uid: string): Promise<Video | undefined>;
  /**
   * Called after a change has been committed and before the response is sent: the row is read again, immediately in
   * this process and on the event in others.
   */
  invalidate(uid: string): void;
  close(): void;
}

/**
 * Changes are announced immediately; this covers lost notifications, because a process may have died before sending
 * one.
 */
const FRESH_CACHE_MS = 10_000;
/** During a database outage, viewers can keep watching for this long. */
const STALE_MS = 10 * 60_000;

/**
 * Every segment request looks up its video: the `max` most recently requested are cached until they change. Missing
 * videos are not cached, because they may be created at any time, and neither are those that cannot be played yet: a
 * client that has learned from another process that a video is ready may request it before the event arrives here.
 */
export function createVideoCache({
  read,
  events,
  clock,
  max = 2000,
}: {
  read(uid: string): Promise<Video | undefined>;
  events: Events;
  clock: Pick<Clock, "now">;
  max?: number;
}): VideoCache {
  const cachedVideos = new Map<string, { video: Video; at: number }>();
  /** Reads in progress; a change of the row removes its entry. */
  const pendingReads = new Map<string, { video: Promise<Video | undefined> }>();

  function forget(uid: string) {
    // An empty id means that notifications may have been lost.
    if (uid === "") {
      cachedVideos.clear();
      pendingReads.clear();
    } else {
      cachedVideos.delete(uid);
      pendingReads.delete(uid);
    }
  }
  const unsubscribe = events.subscribe(VIDEO_CHANGED, forget);

  async function load(uid: string): Promise<Video | undefined> {
    const readAt = clock.now();
    const ownRead = { video: read(uid) };
    pendingReads.set(uid, ownRead);
    try {
      const video = await ownRead.video;
      if (pendingReads.get(uid) !== ownRead) return video;
      cachedVideos.delete(uid);
      if (!isCacheable(video)) return video;
      if (cachedVideos.size >= max) cachedVideos.delete(cachedVideos.keys().next().value!);
      cachedVideos.set(uid, { video, at: readAt });
      return video;
    } finally {
      if (pendingReads.get(uid) === ownRead) pendingReads.delete(uid);
    }
  }

  const loadShared = (uid: string) => pendingReads.get(uid)?.video ?? load(uid);

  async function readCurrent(uid: string): Promise<Video | undefined> {
    const pendingRead = pendingReads.get(uid);
    if (pendingRead === undefined) return load(uid);
    const video = await pendingRead.video;
    // The pending read may have begun before the change that the caller knows of; any later one began after this call.
    return isCacheable(video) ? video : loadShared(uid);
  }

  return {
    find(uid) {
      const entry = cachedVideos.get(uid);
      if (entry === undefined) return readCurrent(uid);
      // Moved to the end, so that the first entry is the least recently used.
      cachedVideos.delete(uid);
      cachedVideos.set(uid, entry);
      if (clock.now() - entry.at < FRESH_CACHE_MS) return Promise.resolve(entry.video);
      return loadShared(uid).catch((err: unknown) => {
        if (clock.now() - entry.at >= STALE_MS || cachedVideos.get(uid) !== entry) throw err;
        return entry.video;
      });
    },
    invalidate(uid) {
      forget(uid);
      events.publish(VIDEO_CHANGED, uid);
    },
    close: unsubscribe,
  };
}

const isCacheable = (video: Video | undefined): video is Video =>
  video !== undefined && (video.readyToStream || video.state === "error");
