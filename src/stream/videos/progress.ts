import type { Clock, Log } from "../../kernel/index.ts";

interface ProgressWriter {
  /** Resolves immediately if it is too early to write again; the last value is then written a little later. */
  report(uid: string, pctComplete: number): Promise<void>;
  forget(uid: string): void;
  /** Writes the buffered steps. */
  close(): Promise<void>;
}

/** A few writes per second are sufficient for viewers, however many segments are finished in between. */
const EVERY_MS = 500;
/** Maximum number of videos tracked by this process; above it, the earliest is written immediately. */
const MAX_VIDEOS = 1000;

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
  const resting = new Map<string, { pct: number | undefined }>();
  const stop = new AbortController();

  async function rest(uid: string) {
    const state: { pct: number | undefined } = { pct: undefined };
    if (resting.size >= MAX_VIDEOS) resting.delete(resting.keys().next().value!);
    resting.set(uid, state);
    await clock.sleep(EVERY_MS, stop.signal).catch(() => undefined);
    if (resting.get(uid) !== state) return;
    resting.delete(uid);
    if (state.pct !== undefined && !stop.signal.aborted)
      await writeAndThrottle(uid, state.pct).catch((err: unknown) =>
        log.warn({ err, video: uid }, "stream: failed to store the progress of a video"),
      );
  }

  function writeAndThrottle(uid: string, pct: number): Promise<void> {
    void rest(uid);
    return write(uid, pct);
  }

  return {
    async report(uid, pct) {
      const state = resting.get(uid);
      if (state === undefined) return writeAndThrottle(uid, pct);
      state.pct = Math.max(state.pct ?? 0, pct);
    },
    forget: (uid) => void resting.delete(uid),
    async close() {
      const waiting = [...resting];
      resting.clear();
      stop.abort();
      for (const [uid, { pct }] of waiting)
        if (pct !== undefined)
          await write(uid, pct).catch((err: unknown) =>
            log.warn({ err, video: uid }, "stream: failed to store the progress of a video"),
          );
    },
  };
}
