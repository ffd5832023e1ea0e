import type { Clock } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { Video } from "./video.ts";

/** On every change of a row; the id is the uid. */
export const VIDEO_CHANGED = "stream.video";

export interface KnownVideos {
  find(uid: string): Promise<Video | undefined>;
  /** Called when a change is committed, before it is answered: here and, by the event, elsewhere the row is read again. */
  changed(uid: string): void;
  close(): void;
}

/** A change is told at once; this is for when the telling fails: who made it may have died between the two. */
const FRESH_MS = 10_000;
/** While the database is away, who is watching goes on watching. */
const STALE_MS = 10 * 60_000;

/**
 * Every segment of every viewer asks for its video: those asked for last, at most `max`, are remembered until they change.
 * A video that is not there is not remembered: it may be made at any time.
 */
export function createKnownVideos({
  read,
  events,
  clock,
  max = 2000,
}: {
  read(uid: string): Promise<Video | undefined>;
  events: Events;
  clock: Pick<Clock, "now">;
  max?: number;
}): KnownVideos {
  const known = new Map<string, { video: Video; at: number }>();
  /** Reads under way, and whether the row has changed since they began. */
  const reading = new Map<string, { video: Promise<Video | undefined> }>();

  function forget(uid: string) {
    // An empty id: hints may have been lost.
    if (uid === "") {
      known.clear();
      reading.clear();
    } else {
      known.delete(uid);
      reading.delete(uid);
    }
  }
  const unsubscribe = events.subscribe(VIDEO_CHANGED, forget);

  async function load(uid: string): Promise<Video | undefined> {
    const at = clock.now();
    const mine = { video: read(uid) };
    reading.set(uid, mine);
    try {
      const video = await mine.video;
      if (reading.get(uid) !== mine) return video;
      known.delete(uid);
      if (video === undefined) return undefined;
      if (known.size >= max) known.delete(known.keys().next().value!);
      known.set(uid, { video, at });
      return video;
    } finally {
      if (reading.get(uid) === mine) reading.delete(uid);
    }
  }

  const loaded = (uid: string) => reading.get(uid)?.video ?? load(uid);

  return {
    find(uid) {
      const entry = known.get(uid);
      if (entry === undefined) return loaded(uid);
      // To the end: the first is the one that was not asked for the longest.
      known.delete(uid);
      known.set(uid, entry);
      if (clock.now() - entry.at < FRESH_MS) return Promise.resolve(entry.video);
      return loaded(uid).catch((err: unknown) => {
        if (clock.now() - entry.at >= STALE_MS || known.get(uid) !== entry) throw err;
        return entry.video;
      });
    },
    changed(uid) {
      forget(uid);
      events.publish(VIDEO_CHANGED, uid);
    },
    close: unsubscribe,
  };
}
