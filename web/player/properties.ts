import type { Property, ReadOnlyProperty, TimeSpan } from "../shared/messages.ts";
import type { App } from "./app.ts";
import { setAccent, setLetterbox } from "./colors.ts";
import { readPreload, httpUrl } from "./options.ts";

export interface Properties {
  /** Returns the current value of every property. */
  read(): Record<Property | ReadOnlyProperty | "played", unknown>;
  /** Writes a value from the embedding page; invalid values are ignored. */
  write(property: string, value: unknown): void;
  buffered(): TimeSpan[];
}

export function createProperties(app: App): Properties {
  const {
    options,
    layout: { video: media, controller },
  } = app;
  const root = document.documentElement;

  const setters: Record<Property, (value: unknown) => void> = {
    muted: (value) => void (media.muted = value === true),
    loop: (value) => void (media.loop = value === true),
    volume: (value) => void (isNumber(value) && (media.volume = clamp(value, 0, 1))),
    playbackRate: (value) => void (isNumber(value) && (media.playbackRate = clamp(value, 0.0625, 16))),
    currentTime: (value) => void (isNumber(value) && app.seek(Math.max(0, value))),
    controls(value) {
      options.controls = value === true;
      for (const name of ["nocontrols", "gesturesdisabled", "nohotkeys"])
        controller.toggleAttribute(name, !options.controls);
    },
    autoplay(value) {
      options.autoplay = value === true;
      if (options.autoplay && media.paused && media.played.length === 0) app.play().catch(() => {});
    },
    preload(value) {
      options.preload = readPreload(value);
      app.preload();
    },
    poster(value) {
      options.poster = httpUrl(value);
      app.showPoster();
    },
    primaryColor(value) {
      options.primaryColor = text(value);
      setAccent(root, value);
    },
    letterboxColor(value) {
      options.letterboxColor = text(value);
      setLetterbox(root, value);
    },
    defaultTextTrack(value) {
      options.defaultTextTrack = text(value);
      app.chooseCaptions(options.defaultTextTrack);
    },
    adUrl: (value) => void (options.adUrl = httpUrl(value)),
    src(value) {
      const id = idOf(value);
      if (id !== undefined && id !== app.video().id) void app.change(id);
    },
  };

  // Initial values from the URL; autoplay, preload and src have already been applied.
  media.muted = options.muted;
  media.loop = options.loop;
  setters.controls(options.controls);
  setAccent(root, options.primaryColor);
  setLetterbox(root, options.letterboxColor);

  return {
    read: () => ({
      adUrl: options.adUrl,
      autoplay: options.autoplay,
      controls: options.controls,
      defaultTextTrack: options.defaultTextTrack,
      letterboxColor: options.letterboxColor,
      poster: options.poster,
      preload: options.preload,
      primaryColor: options.primaryColor,
      src: app.video().id,
      currentTime: media.currentTime,
      loop: media.loop,
      muted: media.muted,
      playbackRate: media.playbackRate,
      volume: media.volume,
      duration: positiveOrUndefined(media.duration) ?? positiveOrUndefined(app.video().duration) ?? NaN,
      ended: media.ended,
      paused: media.paused,
      videoHeight: positiveOrUndefined(media.videoHeight) ?? positiveOrUndefined(app.video().height) ?? 0,
      videoWidth: positiveOrUndefined(media.videoWidth) ?? positiveOrUndefined(app.video().width) ?? 0,
      played: spansOf(media.played),
    }),
    write(property, value) {
      if (Object.hasOwn(setters, property)) setters[property as Property](value);
    },
    buffered: () => spansOf(media.buffered),
  };
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const positiveOrUndefined = (value: number): number | undefined => (value > 0 ? value : undefined);

const spansOf = (ranges: TimeRanges): TimeSpan[] =>
  Array.from({ length: ranges.length }, (_, index) => ({ start: ranges.start(index), end: ranges.end(index) }));

const VIDEO_ID = /^[A-Za-z0-9_.-]{16,8192}$/;

/** Finds a uid or token, alone or as the first path segment of a URL, whatever its host. */
function idOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const address = httpUrl(value);
  const id = address === undefined ? value : new URL(address).pathname.split("/").find((part) => VIDEO_ID.test(part));
  return id !== undefined && VIDEO_ID.test(id) ? id : undefined;
}
