/**
 * Messages between the player frame and the embedding page over postMessage. The names are those of the hosted player,
 * which existing pages listen for directly; `hello`, `call` and `called` are optional extensions.
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
  /** The result of a numbered command. */
  | { [TYPE]: "called"; call: number; error?: { name: string; message: string } };

export type ToPlayer =
  /** Sent by a page that loaded after `iframeReady`; the player then repeats that event with every property. */
  | { [TYPE]: "hello" }
  | { [TYPE]: "setProperty"; property: string; value: unknown }
  | { [TYPE]: "playCommand"; call?: number }
  | { [TYPE]: "pauseCommand"; call?: number };

/** Media events that are forwarded unchanged. */
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

/** Readable and writable properties, with their values before the player is ready. */
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

/** Read-only properties. `played` is a list of time spans. */
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
