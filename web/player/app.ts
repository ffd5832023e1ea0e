import type { PageConfig, PlayerVideo } from "../../src/stream/player/page-config.ts";
import type { AdEvent } from "../shared/messages.ts";
import { runAdBreak } from "./ads/ad-break.ts";
import { createBroadcast } from "./broadcast.ts";
import { createChapterDisplay } from "./chapters.ts";
import { createLayout, type Layout } from "./layout.ts";
import { createLiveEdge } from "./live-edge.ts";
import type { PlayerOptions } from "./options.ts";
import { mayShow, needsOwnPage, openOwnPage } from "./own-page.ts";
import { createSource } from "./source.ts";
import {
  failedText,
  goneText,
  nextText,
  endedText,
  refusedText,
  silentText,
  unplayableText,
  waitingText,
} from "./texts.ts";
import { showDetails } from "./top.ts";
import { VideoUnavailable, readVideo, type Waiting, waitUntilReady } from "./waiting.ts";

/**
 * The player, independent of its current video. `events` reports what the media element does not: advertisements, load
 * errors, known video details.
 */
export interface App {
  layout: Layout;
  options: PlayerOptions;
  events: EventTarget;
  /** Details of the current video. */
  video(): PlayerVideo;
  play(): Promise<void>;
  pause(): void;
  /** Switches to another video: a uid, a token, or a URL that contains one. */
  change(id: string): Promise<void>;
  showPoster(): void;
  /** Start position, applied as soon as the video can be played. */
  seek(seconds: number): void;
  chooseCaptions(language: string | undefined): void;
  /** Loads as much as the option now allows. */
  preload(): void;
}

export function createApp(config: PageConfig, options: PlayerOptions): App {
  const events = new EventTarget();
  const layout = createLayout();
  const { video: media, notice, hint, poster, controller } = layout;
  const root = new URL(config.root, location.href).href;
  const source = createSource(media, (reason, status) => {
    if (reason === "network" && broadcast.failed()) return true;
    const retryAction = {
      label: "Try again",
      run: () =>
        void openSource()
          .play()
          .catch(() => {}),
    };
    notice.show(reason === "media" ? unplayableText : { ...refusedText(status), action: retryAction });
    events.dispatchEvent(new Event("error"));
    return false;
  });

  const edge = createLiveEdge({
    video: media,
    controller,
    window: source.window,
    dvr: options.dvr,
    keepUp: source.keepUp,
  });
  layout.live.append(edge.element);
  const broadcast = createBroadcast({
    media,
    hint,
    window: source.window,
    address: () => `${root}${current.id}/metadata/player.json`,
    on: {
      reopen: () =>
        void (isPlayWanted
          ? openSource()
              .play()
              .catch(() => {})
          : openSource()),
      over: showEnd,
      next: offerNext,
      gone: (status) => giveUp(status),
    },
  });
  source.showCaptions(options.defaultTextTrack);
  const chapters = createChapterDisplay(layout, seek);
  const heading = document.querySelector("h1");

  let current = config.video;
  let readyWait: Waiting | undefined;
  /** True if the viewer wants to watch: playback starts as soon as possible. */
  let isPlayWanted = options.autoplay;
  let playedAdUrl: string | undefined;
  let adRunning: Promise<void> | undefined;
  let seekTo: number | undefined;

  /** A token is kept in every URL; the uid of an input may refer to another video later. */
  const addressOf = (path: string) => `${root}${current.id.includes(".") ? current.id : current.uid}/${path}`;
  const isRunning = () => current.live?.state === "running" || current.live?.state === "interrupted";
  const startPlaying = HTMLMediaElement.prototype.play.bind(media);

  async function play(): Promise<void> {
    isPlayWanted = true;
    if (!current.readyToStream) return;
    if (options.adUrl !== undefined && options.adUrl !== playedAdUrl) {
      const url = options.adUrl;
      playedAdUrl = url;
      adRunning = runAdBreak(
        url,
        layout.ad,
        media,
        (file) => mayShow(file, config),
        (event: AdEvent) => events.dispatchEvent(new Event(event)),
      );
      // The video itself loads in the meantime.
      source.load();
      controller.toggleAttribute("adrunning", true);
    }
    if (adRunning !== undefined) {
      await adRunning;
      adRunning = undefined;
      controller.toggleAttribute("adrunning", false);
      if (!isPlayWanted) return;
    }
    source.load();
    return startPlaying();
  }

  function show(video: PlayerVideo): void {
    readyWait?.stop();
    readyWait = undefined;
    if (needsOwnPage(video, config))
      return openOwnPage(video, config, { ...options, autoplay: isPlayWanted, muted: media.muted, loop: media.loop });
    current = video;
    const title = video.details.title ?? (video.uid === config.video.uid ? config.title : undefined) ?? "Video";
    document.title = title;
    if (heading !== null && heading.textContent !== title) heading.textContent = title;
    // A watch page shows the title below the player.
    showDetails(layout.top, config.mode === "watch" ? { ...video.details, title: null } : video.details);
    layout.controller.toggleAttribute("soundonly", !video.picture);
    setLive(isRunning());
    broadcast.follow(video);
    if (video.duration > 0) controller.setAttribute("defaultduration", String(video.duration));
    else controller.removeAttribute("defaultduration");
    events.dispatchEvent(new Event("known"));
    if (video.readyToStream) return begin();
    source.close();
    if (video.state === "error") return notice.show(failedText(video));
    notice.show({ busy: true, ...waitingText(video) });
    readyWait = waitUntilReady(`${root}${video.id}/metadata/player.json`, video, {
      change: (next) => {
        current = next;
        if (next.state === "error") notice.show(failedText(next));
        else notice.show({ busy: true, ...waitingText(next) });
      },
      ready: (next) => {
        // A viewer who waited on a watch page wants to watch; a running broadcast starts immediately.
        isPlayWanted ||= config.mode === "watch" || next.live?.state === "running";
        show(next);
      },
      gone: (status) => notice.show(refusedText(status)),
    });
  }

  function setLive(live: boolean): void {
    controller.toggleAttribute("live", live);
    const hasDvr = live && options.dvr && current.live?.unrecorded !== true;
    controller.toggleAttribute("dvr", hasDvr);
    // Without DVR the arrow keys cannot seek.
    if (live && !hasDvr) controller.setAttribute("hotkeys", "noarrowleft noarrowright noj nol");
    else controller.removeAttribute("hotkeys");
  }

  /** Called when a broadcast has been watched to its end. */
  function showEnd(endedVideo: PlayerVideo): void {
    const isUnrecorded = current.live?.unrecorded === true;
    current = endedVideo;
    setLive(false);
    source.close();
    poster.hidden = true;
    if (!endedVideo.readyToStream) return show(endedVideo);
    // The only available recording is of an earlier broadcast.
    if (isUnrecorded) notice.show(goneText);
    else notice.show({ ...endedText, action: { label: "Watch again", run: () => watch(endedVideo) } });
    // A viewer who remains on the page may be waiting for the next broadcast.
    broadcast.follow(endedVideo);
  }

  /**
   * Another broadcast has started at the same URL. Playback of a recording continues until the viewer decides;
   * otherwise the broadcast is shown.
   */
  function offerNext(next: PlayerVideo): void {
    if (current.live?.state === "over" && !media.paused)
      return hint.show({ text: nextText, action: { label: "Watch it", run: () => watch(next) } });
    isPlayWanted ||= media.ended || source.isClosed();
    show(next);
  }

  function watch(video: PlayerVideo): void {
    isPlayWanted = true;
    show(video);
  }

  function giveUp(status: number): void {
    setLive(false);
    source.close();
    notice.show(refusedText(status));
    events.dispatchEvent(new Event("error"));
  }

  function begin(): void {
    notice.hide();
    showPoster();
    chapters.show(isRunning() ? [] : current.chapters, addressOf("chapters.vtt"));
    setStoryboard(current.picture && !isRunning() ? addressOf("thumbnails/storyboard.vtt") : undefined);
    openSource();
    if (isPlayWanted) play().catch(playSilently);
  }

  /**
   * Browsers block audio that the viewer did not request: the play button then remains visible, but an awaited
   * broadcast starts muted.
   */
  function playSilently(err: unknown): void {
    if (!isRunning() || media.muted || !(err instanceof Error) || err.name !== "NotAllowedError") return;
    media.muted = true;
    play().catch(() => {});
    hint.stay({ text: silentText, action: { label: "Turn it on", run: () => void (media.muted = false) } });
    media.addEventListener("volumechange", () => {
      if (!media.muted) hint.stay(undefined);
    });
  }

  function openSource(): { play(): Promise<void> } {
    notice.hide();
    const usesWebRtc = current.live?.unrecorded === true;
    const query = isRunning() ? `?protocol=llhls${options.dvr ? "&dvrEnabled=true" : ""}` : "";
    source.open(addressOf(usesWebRtc ? "webRTC/play" : `manifest/video.m3u8${query}`), {
      preload: options.preload,
      startTime: seekTo ?? options.startTime,
      live: isRunning(),
      webrtc: usesWebRtc,
    });
    return { play };
  }

  function showPoster(): void {
    const ownPoster = current.poster === null ? undefined : addressOf(current.poster);
    const { poster: posterOption } = options;
    const set = (address = ownPoster) => {
      // For audio-only videos the browser shows the poster during playback.
      if (!current.picture && address !== undefined) media.poster = address;
      else media.removeAttribute("poster");
      if (address === undefined) poster.hidden = true;
      else if (poster.src !== address) poster.src = address;
    };
    if (posterOption === undefined) return set();
    void mayShow(posterOption, config).then((isAllowed) => {
      if (options.poster === posterOption) set(isAllowed ? posterOption : ownPoster);
    });
  }

  /** The controls read the preview images from a text track of the media element. */
  function setStoryboard(address: string | undefined): void {
    media.querySelector('track[kind="metadata"]')?.remove();
    if (address === undefined) return;
    const track = document.createElement("track");
    Object.assign(track, { kind: "metadata", label: "thumbnails", default: true, src: address });
    media.append(track);
  }

  function seek(seconds: number): void {
    if (media.readyState > 0) media.currentTime = seconds;
    else seekTo = seconds;
  }

  // Every playback request passes through here: buttons, keys, embedding page.
  media.play = play;
  media.addEventListener("play", () => source.load());
  media.addEventListener("pause", () => void (isPlayWanted = false));
  media.addEventListener("loadedmetadata", () => {
    if (seekTo !== undefined) media.currentTime = seekTo;
    seekTo = undefined;
  });
  show(current);

  return {
    layout,
    options,
    events,
    play,
    showPoster,
    video: () => current,
    pause() {
      isPlayWanted = false;
      layout.ad.querySelector("video")?.pause();
      media.pause();
    },
    async change(id) {
      isPlayWanted = options.autoplay || !media.paused;
      playedAdUrl = undefined;
      readyWait?.stop();
      try {
        show(await readVideo(`${root}${id}/metadata/player.json`));
      } catch (err) {
        source.close();
        notice.show(refusedText(err instanceof VideoUnavailable ? err.status : undefined));
        events.dispatchEvent(new Event("error"));
      }
    },
    seek,
    chooseCaptions: (language) => source.showCaptions(language),
    preload() {
      if (options.preload === "auto") source.load();
      else if (options.preload === "metadata") source.prepare();
    },
  };
}
