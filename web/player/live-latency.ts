/** Playback of a running broadcast. Positions in seconds of the media element. */
export interface LivePosition {
  currentTime: number;
  /** The position at the target latency of the playlist. */
  sync: number;
  /** The last buffered range. */
  buffered: { start: number; end: number };
  /** Part target duration of the playlist (PART-TARGET); 0 without low latency. */
  partTarget: number;
}

/** A difference of five percent is inaudible. */
export const CATCH_UP_RATE = 1.05;
/** Distances from the target latency at which catching up begins and ends. */
const CATCH_UP_FROM_S = 0.1;
const CATCH_UP_TO_S = 0.02;
/** Smaller distances at the start are left to the playback rate: a seek decodes again from the last key frame. */
const MIN_SKIP_S = 0.2;
/**
 * Minimum buffer while catching up: at the target latency of three parts, a player has two to three parts. hls.js
 * requires one second, which it never has at that latency.
 */
const MIN_BUFFERED_PARTS = 2;
const MIN_BUFFERED_S = 1;

/** The playback rate of a viewer close to the live edge, given the current rate. */
export function liveRate({ currentTime, sync, buffered, partTarget }: LivePosition, rate: number): number {
  const minBuffered = partTarget > 0 ? MIN_BUFFERED_PARTS * partTarget : MIN_BUFFERED_S;
  const from = rate === CATCH_UP_RATE ? CATCH_UP_TO_S : CATCH_UP_FROM_S;
  return sync - currentTime > from && buffered.end - currentTime > minBuffered ? CATCH_UP_RATE : 1;
}

/** The part of HTMLMediaElement that is used here, without the types of browsers: tests run in Node. */
interface SeekableMedia extends EventTarget {
  currentTime: number;
  readonly paused: boolean;
  readonly readyState: number;
  readonly seeking: boolean;
}

/**
 * hls.js selects the start position when the first playlist arrives, so the time until the first frame would remain as
 * latency. Once playback starts and the target position is buffered, this seeks there, within the buffer.
 * `check`: to be called after data has been buffered.
 */
export function skipStartDelay(
  media: SeekableMedia,
  position: () => LivePosition | undefined,
): { check(): void; end(): void } {
  let hasPlayed = false;
  let isEnded = false;
  function check(): void {
    if (isEnded || media.paused || media.seeking || media.readyState === 0) return;
    const current = position();
    if (current === undefined) return;
    const { currentTime, sync, buffered, partTarget } = current;
    if (sync < buffered.start || sync + partTarget > buffered.end) return;
    end();
    if (sync - currentTime > MIN_SKIP_S) media.currentTime = sync;
  }
  const onPlaying = () => {
    hasPlayed = true;
    check();
  };
  // The viewer has chosen a position.
  const onSeeking = () => hasPlayed && end();
  function end(): void {
    isEnded = true;
    media.removeEventListener("playing", onPlaying);
    media.removeEventListener("seeking", onSeeking);
  }
  media.addEventListener("playing", onPlaying);
  media.addEventListener("seeking", onSeeking);
  return { check, end };
}
