/**
 * What the frame with the player and the page around it tell each other by postMessage. The words are those of the hosted player, which existing
 * pages listen to directly; `hello`, `call` and `called` are ours, and nobody needs them.
 */
export const TYPE = "__privateUnstableMessageType";

export interface TimeSpan {
  start: number;
  end: number;
}

export type FromPlayer =
  | { [TYPE]: "iframeReady" }
  | { [TYPE]: "event"; eventName: string }
  | { [TYPE]: "propertyChange"; property: string; value: unknown }
  | { [TYPE]: "bufferedTimeRangesUpdate"; timeRanges: TimeSpan[] }
  /** What became of a command that had the number. */
  | { [TYPE]: "called"; call: number; error?: { name: string; message: string } };

export type ToPlayer =
  /** A page that came later than `iframeReady`: it is told again, with every property. */
  | { [TYPE]: "hello" }
  | { [TYPE]: "setProperty"; property: string; value: unknown }
  | { [TYPE]: "playCommand"; call?: number }
  | { [TYPE]: "pauseCommand"; call?: number };

/** Events of the media element that are told as they are. */
export const MEDIA_EVENTS = [
  "abort",
  "canplay",
  "canplaythrough",
  "durationchange",
  "ended",
  "error",
  "loadeddata",
  "loadedmetadata",
  "loadstart",
  "pause",
  "play",
  "playing",
  "progress",
  "ratechange",
  "resize",
  "seeked",
  "seeking",
  "stalled",
  "suspend",
  "timeupdate",
  "volumechange",
  "waiting",
] as const;

export const AD_EVENTS = ["stream-adstart", "stream-adend", "stream-adtimeout"] as const;
export type AdEvent = (typeof AD_EVENTS)[number];

/** What a page may read and write, and what it reads before the player has said a word. */
export const PROPERTIES = {
  adUrl: undefined as string | undefined,
  autoplay: false,
  controls: true,
  currentTime: 0,
  defaultTextTrack: undefined as string | undefined,
  letterboxColor: undefined as string | undefined,
  loop: false,
  muted: false,
  playbackRate: 1,
  poster: undefined as string | undefined,
  preload: undefined as string | boolean | undefined,
  primaryColor: undefined as string | undefined,
  src: undefined as string | undefined,
  volume: 1,
};

/** What a page may only read. `played` is a list of time spans. */
export const READINGS = {
  duration: NaN,
  ended: false,
  paused: true,
  videoHeight: 0,
  videoWidth: 0,
};

export type Property = keyof typeof PROPERTIES;
export type Reading = keyof typeof READINGS;

export function isMessage(data: unknown): data is { [TYPE]: string } & Record<string, unknown> {
  return typeof data === "object" && data !== null && typeof (data as Record<string, unknown>)[TYPE] === "string";
}
