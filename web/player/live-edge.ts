import { h } from "./elements.ts";
import type { LiveWindow } from "./source.ts";

interface LiveEdge {
  /** The badge, which jumps to the live edge and shows the distance to it. */
  element: HTMLElement;
  /** Jumps to the live edge and plays. */
  jump(): void;
  /** True if playback is as close to live as possible. */
  isAtEdge(): boolean;
}

interface LiveEdgeDeps {
  video: HTMLVideoElement;
  controller: HTMLElement;
  window(): LiveWindow | undefined;
  /** True if viewers can seek back. */
  dvr: boolean;
  keepUp(close: boolean): void;
}

const TICK_MS = 500;
/** Maximum length of a pause, in seconds, before playback skips ahead if DVR is off. */
const MAX_BEHIND_S = 1;

/** Live playback: the position of the live edge, and the jump to it. */
export function createLiveEdge({ video, controller, window, dvr, keepUp }: LiveEdgeDeps): LiveEdge {
  const label = h("span", { class: "live-label" }, "Live");
  const button = h(
    "button",
    { class: "live-button", type: "button" },
    h("span", { class: "live-dot", "aria-hidden": "true" }),
    label,
  );
  const behindLabel = h("span", { class: "live-behind" });
  const element = h("span", { class: "live" }, button, behindLabel);
  const nativeSeekable = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "seekable")!.get!;
  let hasPlayed = false;

  const isAtEdge = () => {
    const liveWindow = window();
    return liveWindow === undefined || video.currentTime >= liveWindow.sync - liveWindow.slack;
  };

  /**
   * The controls treat the end of the seekable range as the live position. Playback beyond the target latency would
   * only stall, so the range ends there.
   */
  Object.defineProperty(video, "seekable", {
    configurable: true,
    get(): Pick<TimeRanges, "length" | "start" | "end"> {
      const liveWindow = window();
      if (liveWindow === undefined) return nativeSeekable.call(video) as TimeRanges;
      const end = isAtEdge() && hasPlayed ? video.currentTime : liveWindow.sync;
      return { length: 1, start: () => liveWindow.start, end: () => Math.max(liveWindow.start, end) };
    },
  });

  function jump(): void {
    const liveWindow = window();
    if (liveWindow !== undefined && !isAtEdge()) video.currentTime = liveWindow.sync;
    if (video.paused) video.play().catch(() => {});
  }

  function show(): void {
    const liveWindow = window();
    if (liveWindow !== undefined) video.dispatchEvent(new Event("seekablechange"));
    const atEdge = isAtEdge();
    // A viewer behind the live edge may choose the playback rate.
    keepUp(atEdge);
    // Before playback starts, the viewer is not behind: the first press jumps to the live edge.
    const isPresent = liveWindow === undefined || (atEdge && (!video.paused || !hasPlayed)) || !hasPlayed;
    element.toggleAttribute("atedge", isPresent);
    button.setAttribute("aria-disabled", String(isPresent));
    button.setAttribute("aria-label", isPresent ? "Live" : "Go to live");
    button.title = isPresent ? "" : "Go to live";
    const text =
      liveWindow === undefined || !hasPlayed
        ? ""
        : atEdge
          ? `${liveWindow.latency.toFixed(liveWindow.latency < 10 ? 1 : 0)} s`
          : `−${formatClock(liveWindow.sync - video.currentTime)}`;
    if (behindLabel.textContent !== text) behindLabel.textContent = text;
    behindLabel.title = atEdge ? "Latency" : "Behind live";
  }

  button.addEventListener("click", jump);
  video.addEventListener("playing", () => {
    hasPlayed = true;
    show();
  });
  video.addEventListener("emptied", () => void (hasPlayed = false));
  video.addEventListener("play", () => {
    // Without DVR, the section missed during a pause is skipped.
    const liveWindow = dvr || !hasPlayed ? undefined : window();
    if (liveWindow !== undefined && video.currentTime < liveWindow.sync - MAX_BEHIND_S)
      video.currentTime = liveWindow.sync;
  });
  for (const event of ["pause", "seeking", "seeked"]) video.addEventListener(event, show);
  setInterval(() => {
    if (controller.hasAttribute("live")) show();
  }, TICK_MS);
  return { element, jump, isAtEdge };
}

function formatClock(seconds: number): string {
  const wholeSeconds = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(wholeSeconds / 60);
  return minutes < 60
    ? `${minutes}:${two(wholeSeconds % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(wholeSeconds % 60)}`;
}
