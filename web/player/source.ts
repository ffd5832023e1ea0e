import HlsPlayer, { type ErrorData, ErrorTypes, Events, type HlsConfig } from "hls.js";
import { pickCaptions } from "./captions.ts";
import { chunkLoader } from "./chunk-loader.ts";
import { CATCH_UP_RATE, type LivePosition, liveRate, skipStartDelay } from "./live-latency.ts";
import type { PlayerOptions } from "./options.ts";
import { addSourceLists } from "./source-lists.ts";
import { playWhep, type Whep } from "./whep.ts";

interface Source {
  /** Opens this manifest and loads as much of it as `preload` allows. */
  open(
    manifest: string,
    openOptions: {
      preload: PlayerOptions["preload"];
      startTime: number;
      live?: boolean;
      /** True if the URL is a WHEP endpoint. */ webrtc?: boolean;
    },
  ): void;
  /** Loads the data needed for playback; called before playing. */
  load(): void;
  /** Loads the beginning, for the size and the first frame. */
  prepare(): void;
  /**
   * Shows captions in this language (BCP 47), now and in later sources; a later choice by the viewer takes precedence.
   */
  showCaptions(language: string | undefined): void;
  /** Returns the live window of a running broadcast; otherwise undefined. */
  window(): LiveWindow | undefined;
  /** Catches up with the live edge by playing slightly faster. */
  keepUp(close: boolean): void;
  /** True if nothing is loaded. */
  isClosed(): boolean;
  close(): void;
}

/** The seekable range of a broadcast, in seconds of the media element. */
export interface LiveWindow {
  start: number;
  /** The latest position that plays without stalling. */
  sync: number;
  /** Delay in seconds between the published and the displayed video. */
  latency: number;
  /** Tolerance in seconds around the target position. */
  slack: number;
  /** Seconds since the last update; undefined if the browser does not report it. */
  age: number | undefined;
}

/** Without Media Source Extensions (older iPhones) the browser plays the manifest natively. */
const hasMediaSources = "MediaSource" in window || "ManagedMediaSource" in window;
/** Buffer length in seconds: short while not playing. */
const BUFFER_AHEAD_S = { metadata: 1, auto: 30 };
/** Back buffer of a broadcast, which may run for days. */
const LIVE_BEHIND_S = 90;
/** Maximum number of buffer recoveries per source. */
const RECOVERIES = 3;

/**
 * Plays a manifest in `video`, with hls.js if Media Source Extensions are available. `onFailed` is called only for
 * fatal errors and returns true if the source will be opened again; other errors are retried silently.
 */
export function createSource(
  video: HTMLVideoElement,
  onFailed: (reason: "network" | "media", status?: number) => boolean,
): Source {
  const lists = hasMediaSources ? addSourceLists(video) : undefined;
  let hls: HlsPlayer | undefined;
  let whep: Whep | undefined;
  let webrtc = false;
  let manifest = "";
  let isLoaded = false;
  let startTime = 0;
  let isLive = false;
  let language: string | undefined;

  function close(): void {
    hls?.destroy();
    hls = undefined;
    lists?.clear();
    isLoaded = false;
    whep?.close();
    whep = undefined;
    video.srcObject = null;
    if (video.hasAttribute("src")) {
      video.removeAttribute("src");
      video.load();
    }
  }

  function fetchSource(bufferSeconds: number): void {
    if (isLoaded || manifest === "") return;
    isLoaded = true;
    if (webrtc) return void (whep = playWhep(video, manifest, (status) => onFailed("network", status)));
    if (lists === undefined) return playNatively();
    hls = new HlsPlayer({ ...settings(startTime, bufferSeconds), ...(isLive ? LIVE_CONFIG : UPLOADED_CONFIG) });
    const current = hls;
    let recoveries = 0;
    lists.follow(current);
    current.on(Events.MANIFEST_PARSED, (_event, { subtitleTracks }) => {
      const languages = subtitleTracks.map((track) => track.lang ?? "");
      const chosen = language === undefined ? undefined : languages[pickCaptions(languages, language)];
      if (chosen !== undefined) current.config.subtitlePreference = { lang: chosen };
    });
    current.on(Events.ERROR, (_event, data) => {
      if (!data.fatal) return;
      if (data.type === ErrorTypes.MEDIA_ERROR && ++recoveries <= RECOVERIES) return current.recoverMediaError();
      // The rest of the buffer plays to its end, since the source will be opened again.
      current.stopLoad();
      if (!onFailed(isNetwork(data) ? "network" : "media", data.response?.code)) current.destroy();
    });
    if (isLive && startTime === 0) {
      const skip = skipStartDelay(video, () => positionOf(current, video));
      current.on(Events.BUFFER_APPENDED, skip.check);
      current.on(Events.DESTROYING, skip.end);
    }
    current.attachMedia(video);
    current.loadSource(manifest);
  }

  function chooseCaptions(): void {
    if (language === undefined) return;
    if (hls === undefined) return showNativeCaptions(video, language);
    const index = pickCaptions(
      hls.subtitleTracks.map((track) => track.lang ?? ""),
      language,
    );
    if (index === -1) return;
    hls.subtitleDisplay = true;
    hls.subtitleTrack = index;
  }

  function playNatively(): void {
    const from = startTime;
    video.src = manifest;
    if (from > 0) video.addEventListener("loadedmetadata", () => void (video.currentTime = from), { once: true });
  }

  if (lists === undefined) {
    video.textTracks.addEventListener("addtrack", chooseCaptions);
    video.addEventListener("error", () => {
      if (video.hasAttribute("src")) onFailed(video.error?.code === MediaError.MEDIA_ERR_NETWORK ? "network" : "media");
    });
  }

  return {
    open(address, openOptions) {
      close();
      manifest = address;
      startTime = openOptions.startTime;
      isLive = openOptions.live ?? false;
      webrtc = openOptions.webrtc ?? false;
      // Connects only when the viewer wants to watch.
      if (openOptions.preload !== "none" && !webrtc) fetchSource(BUFFER_AHEAD_S[openOptions.preload]);
    },
    load() {
      fetchSource(BUFFER_AHEAD_S.auto);
      if (hls !== undefined) hls.config.maxBufferLength = BUFFER_AHEAD_S.auto;
    },
    showCaptions(wantedLanguage) {
      language = wantedLanguage === "" ? undefined : wantedLanguage;
      chooseCaptions();
    },
    prepare() {
      if (!webrtc) fetchSource(BUFFER_AHEAD_S.metadata);
    },
    window: () => (!isLive || webrtc ? undefined : hls === undefined ? nativeWindow(video) : windowOf(hls)),
    keepUp(close) {
      if (hls === undefined || !isLive) return;
      const position = close ? positionOf(hls, video) : undefined;
      if (position !== undefined) video.playbackRate = liveRate(position, video.playbackRate);
      // Otherwise the faster rate would persist after the viewer seeks back.
      else if (video.playbackRate === CATCH_UP_RATE) video.playbackRate = 1;
    },
    isClosed: () => manifest === "",
    close() {
      close();
      manifest = "";
    },
  };
}

const settings = (startTime: number, bufferSeconds: number): Partial<HlsConfig> => ({
  startPosition: startTime > 0 ? startTime : -1,
  maxBufferLength: bufferSeconds,
  // A frame of 300 pixels does not need 1080 lines; the quality menu overrides this.
  capLevelToPlayerSize: true,
  // Segments that have never been requested are encoded on demand: their first byte may take a while.
  fragLoadPolicy: {
    default: {
      maxTimeToFirstByteMs: 30_000,
      maxLoadTimeMs: 120_000,
      timeoutRetry: { maxNumRetry: 4, retryDelayMs: 0, maxRetryDelayMs: 0 },
      errorRetry: { maxNumRetry: 6, retryDelayMs: 1000, maxRetryDelayMs: 8000 },
    },
  },
  renderTextTracksNatively: true,
  enableCEA708Captions: false,
});

/**
 * Appends a segment while it arrives: the server sends a segment that has not been encoded yet chunk by chunk. hls.js
 * appends each chunk when the next one begins. Not for broadcasts, which have parts.
 */
const UPLOADED_CONFIG: Partial<HlsConfig> = { progressive: true, fLoader: chunkLoader };

/** Native seekable ranges grow by whole segments. */
const SLACK_S = { hls: 2, native: 6 };

/** Added to the target latency after each stall. */
const STALL_INCREASE_S = 0.4;

/** The playlist defines the distance from the live edge; hls.js uses parts if available. */
const LIVE_CONFIG: Partial<HlsConfig> = {
  lowLatencyMode: true,
  liveDurationInfinity: true,
  // The default of one second would more than double the latency after one stall.
  liveSyncOnStallIncrease: STALL_INCREASE_S,
  backBufferLength: LIVE_BEHIND_S,
  // A random session id per page (CTA-5004), so that viewers behind one IP address are counted separately. Sent in a
  // header, where it does not affect caches.
  cmcd: { useHeaders: true, includeKeys: ["sid"] },
  // Gives up on errors early: the caller checks the state of the broadcast and retries. A playlist request that times
  // out usually indicates a gap: hls.js requests it again without blocking and continues.
  playlistLoadPolicy: {
    default: {
      maxTimeToFirstByteMs: 10_000,
      maxLoadTimeMs: 20_000,
      timeoutRetry: { maxNumRetry: 20, retryDelayMs: 0, maxRetryDelayMs: 0 },
      errorRetry: { maxNumRetry: 1, retryDelayMs: 500, maxRetryDelayMs: 500 },
    },
  },
};

function windowOf(hls: HlsPlayer): LiveWindow | undefined {
  const details = hls.latestLevelDetails;
  const sync = hls.liveSyncPosition;
  if (details?.live !== true || sync === null) return undefined;
  return { start: details.fragmentStart, sync, latency: hls.latency, slack: SLACK_S.hls, age: details.age };
}

/** Undefined before anything is buffered, and after the end of the broadcast. */
function positionOf(hls: HlsPlayer, { currentTime, buffered }: HTMLVideoElement): LivePosition | undefined {
  const details = hls.latestLevelDetails;
  const sync = hls.liveSyncPosition;
  const last = buffered.length - 1;
  if (details?.live !== true || sync === null || last < 0) return undefined;
  return {
    currentTime,
    sync,
    buffered: { start: buffered.start(last), end: buffered.end(last) },
    partTarget: details.partTarget,
  };
}

/** Natively played manifests keep their own distance from the live edge, within the seekable range. */
function nativeWindow(video: HTMLVideoElement): LiveWindow | undefined {
  const seekable = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "seekable")!.get!.call(
    video,
  ) as TimeRanges;
  if (video.duration !== Infinity || seekable.length === 0) return undefined;
  const sync = seekable.end(seekable.length - 1);
  return {
    start: seekable.start(0),
    sync,
    latency: Math.max(0, sync - video.currentTime),
    slack: SLACK_S.native,
    age: undefined,
  };
}

/** For natively played manifests: text tracks are added one by one. */
function showNativeCaptions(video: HTMLVideoElement, wantedLanguage: string): void {
  const tracks = [...video.textTracks].filter((track) => track.kind === "subtitles" || track.kind === "captions");
  const chosen =
    tracks[
      pickCaptions(
        tracks.map((track) => track.language),
        wantedLanguage,
      )
    ];
  for (const track of tracks) track.mode = track === chosen ? "showing" : "disabled";
}

const isNetwork = (data: ErrorData) => data.type === ErrorTypes.NETWORK_ERROR;
