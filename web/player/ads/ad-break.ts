import type { AdEvent } from "../../shared/messages.ts";
import { h } from "../elements.ts";
import { loadAd } from "./load-ad.ts";
import type { AdDocument } from "./vast.ts";

/** An advertisement must start within this time; otherwise the video starts without it. */
const TIMEOUT_MS = 8000;
/** A stalled advertisement is skipped after this time. */
const STALL_MS = 10_000;

/**
 * Plays the advertisement of `url` in `stage` before `video`. Always resolves: an advertisement never blocks the video.
 */
export async function runAdBreak(
  url: string,
  stage: HTMLElement,
  video: HTMLVideoElement,
  mayShow: (file: string) => Promise<boolean>,
  onEvent: (event: AdEvent) => void,
): Promise<void> {
  const abort = new AbortController();
  let hasStarted = false;
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const ad = await loadAd(url, abort.signal);
    if (ad === undefined) return;
    const file = bestFile(ad, stage);
    if (!(await mayShow(file))) return;
    await show(ad, file, stage, video, abort, () => {
      hasStarted = true;
      clearTimeout(timer);
      onEvent("stream-adstart");
    });
  } catch {
    // The advertisement is blocked, broken or late: the video plays without it.
  } finally {
    clearTimeout(timer);
    stage.hidden = true;
    stage.replaceChildren();
    if (hasStarted) onEvent("stream-adend");
    else if (abort.signal.aborted) onEvent("stream-adtimeout");
  }
}

function show(
  ad: AdDocument,
  file: string,
  stage: HTMLElement,
  video: HTMLVideoElement,
  abort: AbortController,
  onStart: () => void,
): Promise<void> {
  const { signal } = abort;
  const clip = h("video", { playsinline: true, src: file, "aria-label": "Advertisement" });
  const countdown = h("span", { class: "ad-label" }, "Ad");
  const skip = h("button", { type: "button", class: "ad-button", hidden: true }, "Skip ad");
  const resumeButton = h("button", { type: "button", class: "ad-resume", "aria-label": "Play", hidden: true });
  const visitLink =
    ad.clickThrough === undefined
      ? undefined
      : h("a", { class: "ad-button", href: ad.clickThrough, target: "_blank", rel: "noopener" }, "Learn more");
  const trackedEvents = new Set<string>();

  const track = (event: string) => {
    if (trackedEvents.has(event)) return;
    trackedEvents.add(event);
    for (const url of ad.trackers.get(event) ?? []) new Image().src = url;
  };
  const syncAudio = () => {
    clip.volume = video.volume;
    clip.muted = video.muted;
  };

  return new Promise<void>((resolve, reject) => {
    let stallTimer: ReturnType<typeof setTimeout> | undefined;
    const end = (event: string) => {
      clearTimeout(stallTimer);
      track(event);
      video.removeEventListener("volumechange", syncAudio);
      clip.removeAttribute("src");
      clip.load();
      resolve();
    };
    const watch = () => {
      clearTimeout(stallTimer);
      if (!clip.paused) stallTimer = setTimeout(() => end("error"), STALL_MS);
    };
    signal.addEventListener("abort", () => {
      if (!trackedEvents.has("start")) reject(signal.reason);
    });
    clip.addEventListener("playing", () => {
      watch();
      resumeButton.hidden = true;
      if (trackedEvents.has("start")) return;
      track("impression");
      track("start");
      onStart();
    });
    clip.addEventListener("timeupdate", () => {
      watch();
      const { currentTime: playbackTime, duration } = clip;
      countdown.textContent = Number.isFinite(duration)
        ? `Ad · ${Math.max(0, Math.ceil(duration - playbackTime))} s`
        : "Ad";
      if (playbackTime >= duration * 0.25) track("firstQuartile");
      if (playbackTime >= duration * 0.5) track("midpoint");
      if (playbackTime >= duration * 0.75) track("thirdQuartile");
      if (ad.skipAfter !== undefined && playbackTime >= ad.skipAfter) skip.hidden = false;
    });
    clip.addEventListener("pause", () => {
      clearTimeout(stallTimer);
      if (!clip.ended) resumeButton.hidden = false;
    });
    clip.addEventListener("ended", () => end("complete"));
    clip.addEventListener("error", () => end("error"));
    skip.addEventListener("click", () => end("skip"));
    resumeButton.addEventListener("click", () => void clip.play().catch(() => end("error")));
    visitLink?.addEventListener("click", () => {
      track("click");
      clip.pause();
    });
    video.addEventListener("volumechange", syncAudio);
    syncAudio();
    stage.replaceChildren(
      clip,
      resumeButton,
      h("div", { class: "ad-bar" }, countdown, h("span", { class: "space" }), visitLink, skip),
    );
    stage.hidden = false;
    clip.play().catch(() => end("error"));
  });
}

/** Returns the smallest file that fills the player, otherwise the largest. */
function bestFile(ad: AdDocument, stage: HTMLElement): string {
  const needed = (stage.parentElement?.clientWidth ?? 0) * devicePixelRatio;
  const sorted = [...ad.files].sort((a, b) => a.width - b.width || a.bitrate - b.bitrate);
  return (sorted.find((file) => file.width >= needed) ?? sorted.at(-1))?.url ?? "";
}
