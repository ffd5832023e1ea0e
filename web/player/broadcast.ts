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
  /** URL of `metadata/player.json`. */
  address(): string;
  on: {
    /** The broadcast is available again and must be reloaded. */
    reopen(): void;
    /** The broadcast has ended and was watched to its end. */
    over(video: PlayerVideo): void;
    /** Another broadcast has started at the same URL. */
    next(video: PlayerVideo): void;
    /** Access was lost, with the HTTP status. */
    gone(status: number): void;
  };
}

const TICK_MS = 500;
/** A stall of this length is shown to the viewer; players recover from shorter ones. */
const STILL_MS = 2000;
/** A stall of this length after the end is treated as the end, regardless of the playlist. */
const END_MS = 6000;
const ASK_MS = 2000;
const MAX_ASK_MS = 5000;
/** Interval of checks for a new broadcast while a recording is shown. */
const NEXT_MS = 5000;

export function createBroadcast({ media, hint, window: windowOf, address, on }: BroadcastDeps): Broadcast {
  let followed: PlayerVideo | undefined;
  let asking: ReturnType<typeof setTimeout> | undefined;
  let abort = new AbortController();
  /** Reasons for the current request. */
  let lost = false;
  let ended = false;
  let delay = ASK_MS;
  let at = { time: 0, since: performance.now() };

  const runs = () => followed?.live?.state === "running" || followed?.live?.state === "interrupted";

  function rest(): void {
    clearTimeout(asking);
    asking = undefined;
    abort.abort();
    abort = new AbortController();
    lost = ended = false;
    delay = ASK_MS;
  }

  function askIn(ms: number): void {
    clearTimeout(asking);
    asking = setTimeout(() => void ask(abort.signal), ms * (0.8 + 0.4 * Math.random()));
  }

  async function ask(signal: AbortSignal): Promise<void> {
    // A hidden page does not poll: it may stay open for days.
    if (document.hidden && !runs()) return askIn(NEXT_MS);
    const answer = await readVideo(address(), signal).catch((err: unknown) =>
      err instanceof VideoUnavailable ? err.status : undefined,
    );
    if (signal.aborted || followed === undefined) return;
    if (typeof answer === "number" && answer < 500 && answer !== 429) {
      rest();
      followed = undefined;
      return on.gone(answer);
    }
    if (typeof answer === "object") heard(answer);
    else if (runs()) {
      hint.show({ text: reconnectingText, busy: true });
      delay = Math.min(delay * 1.5, MAX_ASK_MS);
      askIn(delay);
    } else askIn(NEXT_MS);
  }

  function heard(video: PlayerVideo): void {
    const ran = runs();
    const running = video.live?.state === "running" || video.live?.state === "interrupted";
    if (running && video.uid !== followed!.uid) {
      if (!video.readyToStream) return askIn(ASK_MS);
      rest();
      hint.hide();
      return on.next(video);
    }
    if (running) {
      followed = video;
      const age = windowOf()?.age;
      if (lost) {
        lost = false;
        on.reopen();
      }
      if (video.live?.state === "interrupted") hint.show({ text: interruptedText, busy: true });
      else if (!ended && age !== undefined && age * 1000 < STILL_MS) hint.hide();
      else if (!ended) hint.show({ text: stalledText, busy: true });
      return askIn(ASK_MS);
    }
    if (ran && !ended && !lost && performance.now() - at.since < END_MS) {
      // The broadcast has ended at the source, but not yet in the player: the playlist contains the end, which sets
      // `ended`.
      asking = undefined;
      return;
    }
    followed = video;
    if (ran) {
      rest();
      hint.hide();
      on.over(video);
    }
    if (video.live?.follows === true) askIn(NEXT_MS);
  }

  function tick(): void {
    if (!runs()) return;
    const now = performance.now();
    const time = progressOf(media);
    if (media.paused || media.ended || time !== at.time) {
      const moved = time !== at.time;
      at = { time, since: now };
      if (moved && !media.ended) ended = false;
      if (moved && asking !== undefined && !lost && !ended) {
        rest();
        hint.hide();
      }
      return;
    }
    if (now - at.since > STILL_MS && asking === undefined) askIn(0);
  }

  media.addEventListener("ended", () => {
    if (!runs()) return;
    ended = true;
    askIn(0);
  });
  setInterval(tick, TICK_MS);

  return {
    follow(video) {
      rest();
      hint.hide();
      followed = video.live === null ? undefined : video;
      at = { time: progressOf(media), since: performance.now() };
      if (video.live?.state === "over" && video.live.follows) askIn(NEXT_MS);
    },
    failed() {
      if (!runs()) return false;
      lost = true;
      hint.show({ text: reconnectingText, busy: true });
      askIn(delay);
      delay = Math.min(delay * 1.5, MAX_ASK_MS);
      return true;
    },
  };
}

/**
 * A value that increases during playback. The media time of a WebRTC connection advances even when no data is received.
 */
const progressOf = (media: HTMLVideoElement): number =>
  media.srcObject !== null && media.videoWidth > 0
    ? media.getVideoPlaybackQuality().totalVideoFrames
    : media.currentTime;
