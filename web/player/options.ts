/** Options set by the embedding page in the query of the URL. */
export interface PlayerOptions {
  autoplay: boolean;
  muted: boolean;
  loop: boolean;
  controls: boolean;
  preload: "none" | "metadata" | "auto";
  poster: string | undefined;
  primaryColor: string | undefined;
  letterboxColor: string | undefined;
  defaultTextTrack: string | undefined;
  /** Seconds. */
  startTime: number;
  adUrl: string | undefined;
  /** True if viewers can seek back in a running broadcast. */
  dvr: boolean;
  /** A video other than the one in the URL. */
  src: string | undefined;
  /** Origin of the embedding page, if given: messages from other origins are ignored. */
  parentOrigin: string | undefined;
}

export function readOptions(query: URLSearchParams): PlayerOptions {
  return {
    // True if present in any form: even `autoplay=false` starts playback, as in the hosted player.
    autoplay: query.has("autoplay"),
    muted: isOn(query, "muted") || isOn(query, "mute"),
    loop: isOn(query, "loop"),
    controls: query.get("controls") !== "false",
    preload: readPreload(query.get("preload")),
    poster: httpUrl(query.get("poster")),
    primaryColor: query.get("primaryColor") ?? undefined,
    letterboxColor: query.get("letterboxColor") ?? undefined,
    defaultTextTrack: query.get("defaultTextTrack") ?? undefined,
    startTime: readTime(query.get("startTime")),
    adUrl: httpUrl(query.get("ad-url")),
    dvr: isOn(query, "dvrEnabled"),
    src: query.get("src") ?? undefined,
    parentOrigin: originOf(query.get("parentOrigin")),
  };
}

/**
 * Writes options that may have changed into a query, so that reading the query returns the current values; `src` has
 * already been applied.
 */
export function writeOptions(options: PlayerOptions, query: URLSearchParams): URLSearchParams {
  const values = {
    autoplay: options.autoplay,
    muted: options.muted,
    mute: false,
    loop: options.loop,
    controls: options.controls ? undefined : "false",
    preload: options.preload,
    poster: options.poster,
    primaryColor: options.primaryColor,
    letterboxColor: options.letterboxColor,
    defaultTextTrack: options.defaultTextTrack,
    "ad-url": options.adUrl,
    src: undefined,
  };
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === false) query.delete(name);
    else query.set(name, String(value));
  }
  return query;
}

const isOn = (query: URLSearchParams, name: string) => query.has(name) && query.get(name) !== "false";

/** Reads a boolean HTML attribute or one of its keywords. Unknown values mean "none", which causes no traffic. */
export function readPreload(value: unknown): PlayerOptions["preload"] {
  if (value === true || value === "true" || value === "auto" || value === "") return "auto";
  return value === "metadata" ? "metadata" : "none";
}

/** Parses `123`, `12.5`, `1h12m27s` or `90s` to seconds; anything else is 0. */
export function readTime(text: string | null): number {
  if (text === null || text === "") return 0;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const parts = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$/.exec(text);
  if (parts === null) return 0;
  const [, hours = "0", minutes = "0", seconds = "0"] = parts;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** Accepts only http and https URLs: never `javascript:` or `data:`. */
export function httpUrl(value: unknown, base?: string): string | undefined {
  if (typeof value !== "string" || value === "" || !URL.canParse(value, base)) return undefined;
  const url = new URL(value, base);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
}

function originOf(value: string | null): string | undefined {
  const address = httpUrl(value);
  return address === undefined ? undefined : new URL(address).origin;
}
