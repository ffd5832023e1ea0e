import type { AudienceCell } from "./audience-table.ts";

/** A viewer of a video. */
export interface ViewerSession {
  /** Time of the last segment, in epoch milliseconds. */
  seenAt: number;
  /** Last minute and hour in which the viewer was counted, as numbers since the epoch. */
  minute: number;
  hour: number;
  /** Properties that are determined once. */
  readonly about: Pick<AudienceCell, "country" | "browser" | "os" | "device" | "referrer">;
  /** The cell of the interval, valid for `hour`. */
  cell: AudienceCell | undefined;
  interval: number;
}

/** A viewer that gets no segment of the video for this long starts a new view with the next segment. */
const VIEW_GAP_MS = 30 * 60_000;

interface Sessions {
  /** Returns the viewer's session, and whether it has just begun. */
  touch(key: string, now: number, about: () => ViewerSession["about"]): { session: ViewerSession; isNew: boolean };
  /** Removes sessions that have ended. */
  forget(now: number): void;
  readonly size: number;
}

/** `most`: maximum number of sessions; beyond it, the oldest session ends early. */
export function createViewerSessions({ most = 100_000 }: { most?: number } = {}): Sessions {
  const sessions = new Map<string, ViewerSession>();
  return {
    touch(key, now, about) {
      let session = sessions.get(key);
      const isNew = session === undefined || now - session.seenAt > VIEW_GAP_MS;
      if (session === undefined) {
        if (sessions.size >= most) sessions.delete(sessions.keys().next().value!);
        session = { seenAt: now, minute: -1, hour: -1, about: about(), cell: undefined, interval: -1 };
        sessions.set(key, session);
      }
      session.seenAt = now;
      return { session, isNew };
    },
    forget(now) {
      for (const [key, { seenAt }] of sessions) if (now - seenAt > VIEW_GAP_MS) sessions.delete(key);
    },
    get size() {
      return sessions.size;
    },
  };
}
