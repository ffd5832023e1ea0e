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
  tell: (event: AdEvent) => void,
): Promise<void> {
  const abort = new AbortController();
  let started = false;
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const ad = await loadAd(url, abort.signal);
    if (ad === undefined) return;
    const file = bestFile(ad, stage);
    if (!(await mayShow(file))) return;
    await show(ad, file, stage, video, abort, () => {
      started = true;
      clearTimeout(timer);
      tell("stream-adstart");
    });
  } catch {
    // The advertisement is blocked, broken or late: the video plays without it.
  } finally {
    clearTimeout(timer);
    stage.hidden = true;
    stage.replaceChildren();
    if (started) tell("stream-adend");
    else if (abort.signal.aborted) tell("stream-adtimeout");
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
  const left = h("span", { class: "ad-label" }, "Ad");
  const skip = h("button", { type: "button", class: "ad-button", hidden: true }, "Skip ad");
  const resume = h("button", { type: "button", class: "ad-resume", "aria-label": "Play", hidden: true });
  const visit =
    ad.clickThrough === undefined
      ? undefined
      : h("a", { class: "ad-button", href: ad.clickThrough, target: "_blank", rel: "noopener" }, "Learn more");
  const seen = new Set<string>();

  const track = (event: string) => {
    if (seen.has(event)) return;
    seen.add(event);
    for (const url of ad.trackers.get(event) ?? []) new Image().src = url;
  };
  const sound = () => {
    clip.volume = video.volume;
    clip.muted = video.muted;
  };

  return new Promise<void>((resolve, reject) => {
    let stalled: ReturnType<typeof setTimeout> | undefined;
    const end = (event: string) => {
      clearTimeout(stalled);
      track(event);
      video.removeEventListener("volumechange", sound);
      clip.removeAttribute("src");
      clip.load();
      resolve();
    };
    const watch = () => {
      clearTimeout(stalled);
      if (!clip.paused) stalled = setTimeout(() => end("error"), STALL_MS);
    };
    signal.addEventListener("abort", () => {
      if (!seen.has("start")) reject(signal.reason);
    });
    clip.addEventListener("playing", () => {
      watch();
      resume.hidden = true;
      if (seen.has("start")) return;
      track("impression");
      track("start");
      onStart();
    });
    clip.addEventListener("timeupdate", () => {
      watch();
      const { currentTime: at, duration } = clip;
      left.textContent = Number.isFinite(duration) ? `Ad · ${Math.max(0, Math.ceil(duration - at))} s` : "Ad";
      if (at >= duration * 0.25) track("firstQuartile");
      if (at >= duration * 0.5) track("midpoint");
      if (at >= duration * 0.75) track("thirdQuartile");
      if (ad.skipAfter !== undefined && at >= ad.skipAfter) skip.hidden = false;
    });
    clip.addEventListener("pause", () => {
      clearTimeout(stalled);
      if (!clip.ended) resume.hidden = false;
    });
    clip.addEventListener("ended", () => end("complete"));
    clip.addEventListener("error", () => end("error"));
    skip.addEventListener("click", () => end("skip"));
    resume.addEventListener("click", () => void clip.play().catch(() => end("error")));
    visit?.addEventListener("click", () => {
      track("click");
      clip.pause();
    });
    video.addEventListener("volumechange", sound);
    sound();
    stage.replaceChildren(
      clip,
      resume,
      h("div", { class: "ad-bar" }, left, h("span", { class: "space" }), visit, skip),
    );
    stage.hidden = false;
    clip.play().catch(() => end("error"));
  });
}

/** The smallest file that fills the player, otherwise the largest. */
function bestFile(ad: AdDocument, stage: HTMLElement): string {
  const needed = (stage.parentElement?.clientWidth ?? 0) * devicePixelRatio;
  const sorted = [...ad.files].sort((a, b) => a.width - b.width || a.bitrate - b.bitrate);
  return (sorted.find((file) => file.width >= needed) ?? sorted.at(-1))?.url ?? "";
}
