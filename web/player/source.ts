import HlsPlayer, { type ErrorData, ErrorTypes, Events, type HlsConfig } from "hls.js";
import { pickCaptions } from "./captions.ts";
import type { PlayerOptions } from "./options.ts";
import { addSourceLists } from "./source-lists.ts";
import { playWhep, type Whep } from "./whep.ts";

export interface Source {
  /** Takes this manifest from now on; loads as much of it as `preload` says. */
  open(
    manifest: string,
    how: {
      preload: PlayerOptions["preload"];
      startTime: number;
      live?: boolean;
      /** It is the address of a WHEP endpoint. */ webrtc?: boolean;
    },
  ): void;
  /** Loads what is needed to play: whoever wants to play calls it. */
  load(): void;
  /** Loads the beginning, for its size and first picture. */
  prepare(): void;
  /** Shows captions of this language (BCP 47), now and in the sources to come; what the viewer chooses afterwards stays. */
  showCaptions(language: string | undefined): void;
  /** While it is a broadcast that runs. Undefined: it is none, or not loaded, or over. */
  window(): LiveWindow | undefined;
  /** Keeps close to the aim by playing a little faster than the broadcast, where it is behind. */
  keepUp(close: boolean): void;
  /** Nothing is in it. */
  isClosed(): boolean;
  close(): void;
}

/** What can be seen of a broadcast, in seconds of the media element. */
export interface LiveWindow {
  start: number;
  /** The newest that can be played without stopping again at once. */
  sync: number;
  /** Seconds between what is seen and what is being sent. */
  latency: number;
  /** Seconds that playing may be off the aim and still be at it: it is never exactly there. */
  slack: number;
  /** Seconds since more of it was there; undefined where the browser does not tell. */
  age: number | undefined;
}

/** Without them (older iPhones) the browser plays the manifest itself. */
const hasMediaSources = "MediaSource" in window || "ManagedMediaSource" in window;
/** Seconds that are kept ready: little as long as nobody plays. */
const AHEAD = { metadata: 1, auto: 30 };
/** Nobody hears a difference of five percent. */
const CATCH_UP_RATE = 1.05;
/** Of what has been seen of a broadcast: it may run for days. */
const LIVE_BEHIND_S = 90;
/** Tries to get over a broken buffer within one source. */
const RECOVERIES = 3;

/**
 * Feeds `video` from a manifest: by hls.js where there are media sources. `onFailed` hears only of
 * what is over; everything else is tried again without a word. It answers whether it will be opened again.
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
  let loaded = false;
  let startTime = 0;
  let live = false;
  let language: string | undefined;

  function close(): void {
    hls?.destroy();
    hls = undefined;
    lists?.clear();
    loaded = false;
    whep?.close();
    whep = undefined;
    video.srcObject = null;
    if (video.hasAttribute("src")) {
      video.removeAttribute("src");
      video.load();
    }
  }

  function fetchSource(ahead: number): void {
    if (loaded || manifest === "") return;
    loaded = true;
    if (webrtc) return void (whep = playWhep(video, manifest, (status) => onFailed("network", status)));
    if (lists === undefined) return playNatively();
    hls = new HlsPlayer({ ...settings(startTime, ahead), ...(live && LIVE) });
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
      // What is there already is seen to its end, by whoever is about to have it opened again.
      current.stopLoad();
      if (!onFailed(isNetwork(data) ? "network" : "media", data.response?.code)) current.destroy();
    });
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
    open(address, how) {
      close();
      manifest = address;
      startTime = how.startTime;
      live = how.live ?? false;
      webrtc = how.webrtc ?? false;
      // A connection is made for who is there to watch.
      if (how.preload !== "none" && !webrtc) fetchSource(AHEAD[how.preload]);
    },
    load() {
      fetchSource(AHEAD.auto);
      if (hls !== undefined) hls.config.maxBufferLength = AHEAD.auto;
    },
    showCaptions(wanted) {
      language = wanted === "" ? undefined : wanted;
      chooseCaptions();
    },
    prepare() {
      if (!webrtc) fetchSource(AHEAD.metadata);
    },
    window: () => (!live || webrtc ? undefined : hls === undefined ? nativeWindow(video) : windowOf(hls)),
    keepUp(close) {
      if (hls === undefined || !live) return;
      hls.config.maxLiveSyncPlaybackRate = close ? CATCH_UP_RATE : 1;
      // Left alone it stays as it was when the viewer went back.
      if (!close && video.playbackRate === CATCH_UP_RATE) video.playbackRate = 1;
    },
    isClosed: () => manifest === "",
    close() {
      close();
      manifest = "";
    },
  };
}

const settings = (startTime: number, ahead: number): Partial<HlsConfig> => ({
  startPosition: startTime > 0 ? startTime : -1,
  maxBufferLength: ahead,
  // A frame of 300 pixels needs no 1080 lines; the choice in the menu is not bound by it.
  capLevelToPlayerSize: true,
  // Segments that nobody has asked for yet are encoded now: their first byte may take a while.
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

/** What a browser calls seekable grows by whole segments. */
const SLACK_S = { hls: 2, native: 6 };

/** The playlist says how far from the edge to stay, and hls.js goes by its parts where it has some. */
const LIVE: Partial<HlsConfig> = {
  lowLatencyMode: true,
  liveDurationInfinity: true,
  backBufferLength: LIVE_BEHIND_S,
  // A number that is thrown anew for each page (CTA-5004), so that viewers behind one address are counted one by one. In a field, where caches do not mind it.
  cmcd: { useHeaders: true, includeKeys: ["sid"] },
  // Errors are soon given up: whoever looks after the broadcast asks what is the matter, and tries again. But that a playlist is waited for in vain is
  // what a gap looks like: hls.js asks once more without waiting then, and goes on.
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

/** Browsers that play the manifest by themselves keep their distance by themselves: it is in what they call seekable. */
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

/** Of a video that the browser plays from the manifest by itself: its tracks come one by one. */
function showNativeCaptions(video: HTMLVideoElement, wanted: string): void {
  const tracks = [...video.textTracks].filter((track) => track.kind === "subtitles" || track.kind === "captions");
  const chosen =
    tracks[
      pickCaptions(
        tracks.map((track) => track.language),
        wanted,
      )
    ];
  for (const track of tracks) track.mode = track === chosen ? "showing" : "disabled";
}

const isNetwork = (data: ErrorData) => data.type === ErrorTypes.NETWORK_ERROR;
