/**
 * Messages between the player frame and the embedding page over postMessage. The names are those of the hosted player,
 * which existing pages listen for directly; `hello`, `call` and `called` are optional extensions.
 */
export const MESSAGE_TYPE_KEY = "__privateUnstableMessageType";

export interface TimeSpan {
  start: number;
  end: number;
}

export type FromPlayer =
  | { [MESSAGE_TYPE_KEY]: "iframeReady" }
  | { [MESSAGE_TYPE_KEY]: "event"; eventName: string }
  | { [MESSAGE_TYPE_KEY]: "propertyChange"; property: string; value: unknown }
  | { [MESSAGE_TYPE_KEY]: "bufferedTimeRangesUpdate"; timeRanges: TimeSpan[] }
  /** The result of a numbered command. */
  | { [MESSAGE_TYPE_KEY]: "called"; call: number; error?: { name: string; message: string } };

export type ToPlayer =
  /** Sent by a page that loaded after `iframeReady`; the player then repeats that event with every property. */
  | { [MESSAGE_TYPE_KEY]: "hello" }
  | { [MESSAGE_TYPE_KEY]: "setProperty"; property: string; value: unknown }
  | { [MESSAGE_TYPE_KEY]: "playCommand"; call?: number }
  | { [MESSAGE_TYPE_KEY]: "pauseCommand"; call?: number };

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
export const READ_ONLY_PROPERTIES = {
  duration: NaN,
  ended: false,
  paused: true,
  videoHeight: 0,
  videoWidth: 0,
};

export type Property = keyof typeof PROPERTIES;
export type ReadOnlyProperty = keyof typeof READ_ONLY_PROPERTIES;

export function isMessage(data: unknown): data is { [MESSAGE_TYPE_KEY]: string } & Record<string, unknown> {
  return (
    typeof data === "object" && data !== null && typeof (data as Record<string, unknown>)[MESSAGE_TYPE_KEY] === "string"
  );
}
