import type { Clock, Log } from "../../kernel/index.ts";

interface ProgressWriter {
  /** Resolves immediately if it is too early to write again; the last value is then written a little later. */
  report(uid: string, pctComplete: number): Promise<void>;
  forget(uid: string): void;
  /** Writes the buffered steps. */
  close(): Promise<void>;
}

/** A few writes per second are sufficient for viewers, however many segments are finished in between. */
const WRITE_INTERVAL_MS = 500;
/** Maximum number of videos tracked by this process; above it, the earliest is written immediately. */
const MAX_TRACKED_VIDEOS = 1000;

export function createProgressWriter({
  clock,
  log,
  write,
}: {
  clock: Clock;
  log: Log;
  write(uid: string, pct: number): Promise<void>;
}): ProgressWriter {
  /** Videos whose progress was written within the last half second, with their latest value. */
  const throttledVideos = new Map<string, { pct: number | undefined }>();
  const stop = new AbortController();

  async function startThrottle(uid: string) {
    const state: { pct: number | undefined } = { pct: undefined };
    if (throttledVideos.size >= MAX_TRACKED_VIDEOS) throttledVideos.delete(throttledVideos.keys().next().value!);
    throttledVideos.set(uid, state);
    await clock.sleep(WRITE_INTERVAL_MS, stop.signal).catch(() => undefined);
    if (throttledVideos.get(uid) !== state) return;
    throttledVideos.delete(uid);
    if (state.pct !== undefined && !stop.signal.aborted)
      await writeAndThrottle(uid, state.pct).catch((err: unknown) =>
        log.warn({ err, video: uid }, "stream: failed to store the progress of a video"),
      );
  }

  function writeAndThrottle(uid: string, pct: number): Promise<void> {
    void startThrottle(uid);
    return write(uid, pct);
  }

  return {
    async report(uid, pct) {
      const state = throttledVideos.get(uid);
      if (state === undefined) return writeAndThrottle(uid, pct);
      state.pct = Math.max(state.pct ?? 0, pct);
    },
    forget: (uid) => void throttledVideos.delete(uid),
    async close() {
      const throttledEntries = [...throttledVideos];
      throttledVideos.clear();
      stop.abort();
      for (const [uid, { pct }] of throttledEntries)
        if (pct !== undefined)
          await write(uid, pct).catch((err: unknown) =>
            log.warn({ err, video: uid }, "stream: failed to store the progress of a video"),
          );
    },
  };
}
