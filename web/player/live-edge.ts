import { h } from "./elements.ts";
import type { LiveWindow } from "./source.ts";

export interface LiveEdge {
  /** The badge, which leads to the edge, and how far from it the viewer is. */
  element: HTMLElement;
  /** To what is being sent now, and plays. */
  jump(): void;
  /** Whether what is seen is as new as it can be. */
  isAtEdge(): boolean;
}

export interface LiveEdgeParts {
  video: HTMLVideoElement;
  controller: HTMLElement;
  window(): LiveWindow | undefined;
  /** Viewers may go back. */
  dvr: boolean;
  keepUp(close: boolean): void;
}

const TICK_MS = 500;
/** Seconds that a pause may last before what was missed is left out, where one may not go back. */
const MISSED_S = 1;

/** What is special about seeing something while it happens: where "now" is, and the way there. */
export function createLiveEdge({ video, controller, window, dvr, keepUp }: LiveEdgeParts): LiveEdge {
  const label = h("span", { class: "live-label" }, "Live");
  const button = h(
    "button",
    { class: "live-button", type: "button" },
    h("span", { class: "live-dot", "aria-hidden": "true" }),
    label,
  );
  const behind = h("span", { class: "live-behind" });
  const element = h("span", { class: "live" }, button, behind);
  const nativeSeekable = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "seekable")!.get!;
  let hasPlayed = false;

  const isAtEdge = () => {
    const live = window();
    return live === undefined || video.currentTime >= live.sync - live.slack;
  };

  /** The controls take the end of what can be sought for "now"; what is beyond the aim would only stall, and the mark is to stand at the end there. */
  Object.defineProperty(video, "seekable", {
    configurable: true,
    get(): Pick<TimeRanges, "length" | "start" | "end"> {
      const live = window();
      if (live === undefined) return nativeSeekable.call(video) as TimeRanges;
      const end = isAtEdge() && hasPlayed ? video.currentTime : live.sync;
      return { length: 1, start: () => live.start, end: () => Math.max(live.start, end) };
    },
  });

  function jump(): void {
    const live = window();
    if (live !== undefined && !isAtEdge()) video.currentTime = live.sync;
    if (video.paused) video.play().catch(() => {});
  }

  function show(): void {
    const live = window();
    if (live !== undefined) video.dispatchEvent(new Event("seekablechange"));
    const atEdge = isAtEdge();
    // Who watches what was a while ago may choose how fast.
    keepUp(atEdge);
    // Nobody is behind who has not begun: the first press leads to the edge.
    const present = live === undefined || (atEdge && (!video.paused || !hasPlayed)) || !hasPlayed;
    element.toggleAttribute("atedge", present);
    button.setAttribute("aria-disabled", String(present));
    button.setAttribute("aria-label", present ? "Live" : "Go to what is live now");
    button.title = present ? "" : "Go to what is live now";
    const text =
      live === undefined || !hasPlayed
        ? ""
        : atEdge
          ? `${live.latency.toFixed(live.latency < 10 ? 1 : 0)} s`
          : `−${clock(live.sync - video.currentTime)}`;
    if (behind.textContent !== text) behind.textContent = text;
    behind.title = atEdge ? "Behind what is being sent" : "Behind what is live now";
  }

  button.addEventListener("click", jump);
  video.addEventListener("playing", () => {
    hasPlayed = true;
    show();
  });
  video.addEventListener("emptied", () => void (hasPlayed = false));
  video.addEventListener("play", () => {
    // Where there is no way back, what was missed in the pause is gone.
    const live = dvr || !hasPlayed ? undefined : window();
    if (live !== undefined && video.currentTime < live.sync - MISSED_S) video.currentTime = live.sync;
  });
  for (const event of ["pause", "seeking", "seeked"]) video.addEventListener(event, show);
  setInterval(() => {
    if (controller.hasAttribute("live")) show();
  }, TICK_MS);
  return { element, jump, isAtEdge };
}

function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
