import type { PlayerVideo } from "../../src/stream/player/page-config.ts";
import type { Hint } from "./hint.ts";
import type { LiveWindow } from "./source.ts";
import { interruptedText, reconnectingText, stalledText } from "./texts.ts";
import { readVideo, VideoUnavailable } from "./waiting.ts";

/** Monitors a broadcast during playback, and the URL of an input after the broadcast has ended. */
interface Broadcast {
  /** Monitors this video from now on, in any state; ignored if it was never broadcast. */
  follow(video: PlayerVideo): void;
  /** Called when loading has failed. Returns false if the caller must report the failure. */
  failed(): boolean;
}

interface BroadcastDeps {
  media: HTMLVideoElement;
  hint: Hint;
  window(): LiveWindow | undefined;
  /** Returns the URL of `metadata/player.json`. */
  address(): string;
  on: {
    /** Called when the broadcast is available again and must be reloaded. */
    reopen(): void;
    /** Called when the broadcast has ended and was watched to its end. */
    over(video: PlayerVideo): void;
    /** Called when another broadcast has started at the same URL. */
    next(video: PlayerVideo): void;
    /** Called when access was lost, with the HTTP status. */
    gone(status: number): void;
  };
}

const TICK_MS = 500;
/** A stall of this length is shown to the viewer; players recover from shorter ones. */
const MAX_FRESH_AGE_MS = 2000;
/** A stall of this length after the end is treated as the end, regardless of the playlist. */
const END_TIMEOUT_MS = 6000;
const POLL_INTERVAL_MS = 2000;
const MAX_POLL_INTERVAL_MS = 5000;
/** Interval of checks for a new broadcast while a recording is shown. */
const NEXT_POLL_INTERVAL_MS = 5000;

export function createBroadcast({ media, hint, window: windowOf, address, on }: BroadcastDeps): Broadcast {
  let followedVideo: PlayerVideo | undefined;
  let pollTimer: ReturnType<typeof setTimeout> | undefined;
  let abort = new AbortController();
  /** Reasons for the current request. */
  let isConnectionLost = false;
  let hasEnded = false;
  let delay = POLL_INTERVAL_MS;
  let playPosition = { time: 0, since: performance.now() };

  const isLiveRunning = () => followedVideo?.live?.state === "running" || followedVideo?.live?.state === "interrupted";

  function stopPolling(): void {
    clearTimeout(pollTimer);
    pollTimer = undefined;
    abort.abort();
    abort = new AbortController();
    isConnectionLost = hasEnded = false;
    delay = POLL_INTERVAL_MS;
  }

  function schedulePoll(ms: number): void {
    clearTimeout(pollTimer);
    pollTimer = setTimeout(() => void pollVideo(abort.signal), ms * (0.8 + 0.4 * Math.random()));
  }

  async function pollVideo(signal: AbortSignal): Promise<void> {
    // A hidden page does not poll: it may stay open for days.
    if (document.hidden && !isLiveRunning()) return schedulePoll(NEXT_POLL_INTERVAL_MS);
    const answer = await readVideo(address(), signal).catch((err: unknown) =>
      err instanceof VideoUnavailable ? err.status : undefined,
    );
    if (signal.aborted || followedVideo === undefined) return;
    if (typeof answer === "number" && answer < 500 && answer !== 429) {
      stopPolling();
      followedVideo = undefined;
      return on.gone(answer);
    }
    if (typeof answer === "object") handleVideo(answer);
    else if (isLiveRunning()) {
      hint.show({ text: reconnectingText, busy: true });
      delay = Math.min(delay * 1.5, MAX_POLL_INTERVAL_MS);
      schedulePoll(delay);
    } else schedulePoll(NEXT_POLL_INTERVAL_MS);
  }

  function handleVideo(video: PlayerVideo): void {
    const wasRunning = isLiveRunning();
    const isRunning = video.live?.state === "running" || video.live?.state === "interrupted";
    if (isRunning && video.uid !== followedVideo!.uid) {
      if (!video.readyToStream) return schedulePoll(POLL_INTERVAL_MS);
      stopPolling();
      hint.hide();
      return on.next(video);
    }
    if (isRunning) {
      followedVideo = video;
      const age = windowOf()?.age;
      if (isConnectionLost) {
        isConnectionLost = false;
        on.reopen();
      }
      if (video.live?.state === "interrupted") hint.show({ text: interruptedText, busy: true });
      else if (!hasEnded && age !== undefined && age * 1000 < MAX_FRESH_AGE_MS) hint.hide();
      else if (!hasEnded) hint.show({ text: stalledText, busy: true });
      return schedulePoll(POLL_INTERVAL_MS);
    }
    if (wasRunning && !hasEnded && !isConnectionLost && performance.now() - playPosition.since < END_TIMEOUT_MS) {
      // The broadcast has ended at the source, but not yet in the player: the playlist contains the end, which sets
      // `hasEnded`.
      pollTimer = undefined;
      return;
    }
    followedVideo = video;
    if (wasRunning) {
      stopPolling();
      hint.hide();
      on.over(video);
    }
    if (video.live?.follows === true) schedulePoll(NEXT_POLL_INTERVAL_MS);
  }

  function tick(): void {
    if (!isLiveRunning()) return;
    const now = performance.now();
    const time = progressOf(media);
    if (media.paused || media.ended || time !== playPosition.time) {
      const hasMoved = time !== playPosition.time;
      playPosition = { time, since: now };
      if (hasMoved && !media.ended) hasEnded = false;
      if (hasMoved && pollTimer !== undefined && !isConnectionLost && !hasEnded) {
        stopPolling();
        hint.hide();
      }
      return;
    }
    if (now - playPosition.since > MAX_FRESH_AGE_MS && pollTimer === undefined) schedulePoll(0);
  }

  media.addEventListener("ended", () => {
    if (!isLiveRunning()) return;
    hasEnded = true;
    schedulePoll(0);
  });
  setInterval(tick, TICK_MS);

  return {
    follow(video) {
      stopPolling();
      hint.hide();
      followedVideo = video.live === null ? undefined : video;
      playPosition = { time: progressOf(media), since: performance.now() };
      if (video.live?.state === "over" && video.live.follows) schedulePoll(NEXT_POLL_INTERVAL_MS);
    },
    failed() {
      if (!isLiveRunning()) return false;
      isConnectionLost = true;
      hint.show({ text: reconnectingText, busy: true });
      schedulePoll(delay);
      delay = Math.min(delay * 1.5, MAX_POLL_INTERVAL_MS);
      return true;
    },
  };
}

/**
 * Returns a value that increases during playback. The media time of a WebRTC connection advances even when no data is
 * received.
 */
const progressOf = (media: HTMLVideoElement): number =>
  media.srcObject !== null && media.videoWidth > 0
    ? media.getVideoPlaybackQuality().totalVideoFrames
    : media.currentTime;
