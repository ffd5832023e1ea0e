import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";
import { h, icon } from "../player/elements.ts";
import { sizeText, timeText } from "./figures.ts";

type ShownState =
  | { step: "choose"; problem?: string }
  | { step: "sending" | "paused"; name: string; size: number; sent: number; speed: number }
  | { step: "failed"; name: string; problem: string }
  | { step: "processing"; percent: number; watch?: string }
  | { step: "ready"; watch?: string }
  | { step: "unusable"; code: string; problem: string; retry: boolean }
  | { step: "expired" };

interface ViewEvents {
  file(file: File): void;
  pause: () => void;
  resume: () => void;
  another: () => void;
}

const ARROW =
  "M11 15.5V7.4L8.4 10 7 8.6 12 3.6l5 5-1.4 1.4L13 7.4v8.1zM5 20.4q-.8 0-1.4-.6T3 18.4v-3h2v3h14v-3h2v3q0 .8-.6 1.4t-1.4.6z";
const CLOCK =
  "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zm0 2a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm1 2v4.6l3.2 3.2-1.4 1.4L11 12.4V7z";
const CROSS = "m12 10.6 4.9-4.9 1.4 1.4-4.9 4.9 4.9 4.9-1.4 1.4-4.9-4.9-4.9 4.9-1.4-1.4 4.9-4.9-4.9-4.9 1.4-1.4z";
const CHECK = "m9.5 17.6-5.3-5.3 1.4-1.4 3.9 3.9 8.9-8.9 1.4 1.4z";

/** Creates the card of the page with its steps. */
export function createView(
  root: HTMLElement,
  limits: UploadPageConfig,
  events: ViewEvents,
): { show(shownState: ShownState): void } {
  const input = h("input", {
    type: "file",
    id: "file",
    accept: "video/*,audio/*,.mkv,.mxf,.ts,.m2ts,.flv,.avi",
    class: "visually-hidden",
  });
  const problem = h("p", { class: "problem", role: "alert" });
  const zone = h(
    "label",
    { class: "zone", for: "file" },
    icon(ARROW),
    h("span", { class: "zone-title" }, "Drop a video here"),
    h("span", {}, "or ", h("span", { class: "link" }, "choose a file")),
    h("span", { class: "hint" }, limitsText(limits)),
  );
  const name = h("p", { class: "name" });
  const bar = h("div", { class: "fill" });
  const track = h(
    "div",
    { class: "track", role: "progressbar", "aria-label": "Upload", "aria-valuemin": 0, "aria-valuemax": 100 },
    bar,
  );
  const percent = h("span", { class: "percent" });
  const detail = h("span", { class: "detail" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const toggle = h("button", { type: "button", class: "button strong" });
  const another = createButton("Choose another file", "button", events.another);
  const processing = createProcessing();
  let isPaused = false;

  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    input.value = "";
    if (file !== undefined) events.file(file);
  });
  toggle.addEventListener("click", () => (isPaused ? events.resume() : events.pause()));

  const chooseSection = h("section", {}, h("h1", {}, "Upload a video"), input, zone, problem);
  const sendingSection = h(
    "section",
    {},
    name,
    track,
    h("p", { class: "figures" }, percent, detail),
    status,
    h("p", { class: "buttons" }, toggle, another),
  );
  const result = h("section", { class: "result" });
  root.append(h("div", { class: "card" }, chooseSection, sendingSection, result));

  return {
    show(shownState) {
      chooseSection.hidden = shownState.step !== "choose";
      sendingSection.hidden = shownState.step !== "sending" && shownState.step !== "paused";
      result.hidden = !chooseSection.hidden || !sendingSection.hidden;
      switch (shownState.step) {
        case "choose":
          problem.textContent = shownState.problem ?? "";
          document.title = "Upload a video";
          return;
        case "sending":
        case "paused":
          return showProgress(shownState);
        case "failed":
          document.title = "Upload stopped";
          return result.replaceChildren(
            createBadge(CROSS, "wrong"),
            h("h1", {}, "The upload stopped"),
            h("p", { role: "alert" }, shownState.problem),
            h(
              "p",
              { class: "hint" },
              `The part of ${shownState.name} that was uploaded is saved. Try again to resume from there.`,
            ),
            h(
              "p",
              { class: "buttons" },
              createButton("Try again", "button strong", events.resume),
              createButton("Choose another file", "button", events.another),
            ),
          );
        case "processing":
          return showProcessing(shownState);
        case "ready":
          document.title = "Your video is ready";
          return result.replaceChildren(
            createBadge(CHECK),
            h("h1", {}, "Your video is ready"),
            h("p", { class: "hint", role: "status" }, "The upload is complete. You can close this page."),
            createWatchButton(shownState.watch),
          );
        case "unusable":
          document.title = "File cannot be used";
          return result.replaceChildren(
            createBadge(CROSS, "wrong"),
            h("h1", {}, "This file cannot be used"),
            h("p", { role: "alert" }, reasonText(shownState)),
            ...(shownState.retry
              ? [
                  h("p", { class: "hint" }, "This link is still valid: send another file."),
                  h("p", { class: "buttons" }, createButton("Choose another file", "button strong", events.another)),
                ]
              : [h("p", { class: "hint" }, "Ask the person who sent you this link for a new one.")]),
          );
        case "expired":
          document.title = "Upload expired";
          return result.replaceChildren(
            createBadge(CLOCK, "wrong"),
            h("h1", {}, "This upload link has expired"),
            h("p", { class: "hint" }, "Ask the person who sent it to you for a new one."),
          );
      }
    },
  };

  /** Built once, then updated: screen readers would announce a replaced live region every time. */
  function showProcessing({ percent, watch }: Extract<ShownState, { step: "processing" }>): void {
    document.title = "Processing your video";
    if (!result.contains(processing.element)) result.replaceChildren(processing.element);
    processing.bar.style.width = `${percent}%`;
    processing.track.setAttribute("aria-valuenow", String(percent));
    processing.track.hidden = percent === 0;
    const text =
      watch === undefined
        ? "The file has been received and is being checked. The video can be played once its first seconds are encoded."
        : "You can already watch the video while the rest is being encoded. You can close this page.";
    if (processing.text.textContent !== text) processing.text.textContent = text;
    if (watch !== undefined && processing.place.childElementCount === 0)
      processing.place.append(createWatchButton(watch));
  }

  function showProgress({ step, name: file, size, sent, speed }: Extract<ShownState, { sent: number }>): void {
    const sentFraction = size === 0 ? 0 : Math.min(1, sent / size);
    const wholePercent = Math.floor(sentFraction * 100);
    isPaused = step === "paused";
    name.textContent = file;
    bar.style.width = `${sentFraction * 100}%`;
    track.setAttribute("aria-valuenow", String(wholePercent));
    percent.textContent = `${wholePercent}%`;
    const remainingText = isPaused
      ? "paused"
      : speed > 0
        ? `${sizeText(speed)}/s · ${timeText((size - sent) / speed)} left`
        : "";
    detail.textContent = [`${sizeText(sent)} of ${sizeText(size)}`, remainingText]
      .filter((part) => part !== "")
      .join(" · ");
    toggle.textContent = isPaused ? "Resume" : "Pause";
    sendingSection.classList.toggle("paused", isPaused);
    document.title = `${wholePercent}% – Upload`;
    // Announced periodically instead of for every update.
    const spoken = isPaused ? "Paused" : `${Math.floor(wholePercent / 10) * 10} percent`;
    if (status.textContent !== spoken) status.textContent = spoken;
  }
}

function createButton(label: string, kind: string, onPress: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", class: kind }, label);
  element.addEventListener("click", onPress);
  return element;
}

function limitsText({ maxBytes, maxDurationSeconds }: UploadPageConfig): string {
  const parts = [
    ...(maxBytes === undefined ? [] : [sizeText(maxBytes)]),
    ...(maxDurationSeconds === undefined ? [] : [timeText(maxDurationSeconds)]),
  ];
  return parts.length === 0 ? "" : `Up to ${parts.join(", ")}`;
}

const createBadge = (path: string, kind = ""): HTMLElement => h("div", { class: `badge ${kind}`.trim() }, icon(path));
const createWatchButton = (watch: string | undefined): HTMLElement =>
  h(
    "p",
    { class: "buttons", hidden: watch === undefined },
    watch !== undefined && h("a", { class: "button strong", href: watch }, "Watch video"),
  );

function createProcessing(): {
  element: HTMLElement;
  bar: HTMLElement;
  track: HTMLElement;
  text: HTMLElement;
  place: HTMLElement;
} {
  const bar = h("div", { class: "fill" });
  const track = h(
    "div",
    { class: "track", role: "progressbar", "aria-label": "Processing", "aria-valuemin": 0, "aria-valuemax": 100 },
    bar,
  );
  const text = h("p", { class: "hint", role: "status" });
  const place = h("div", {});
  return {
    element: h("div", {}, createBadge(CLOCK), h("h1", {}, "Your video is being processed"), text, track, place),
    bar,
    track,
    text,
    place,
  };
}

/** Returns the server's reason; for internal errors, a more helpful text. */
const reasonText = ({ code, problem }: { code: string; problem: string }): string =>
  code === "ERR_UNKNOWN" || problem === "" ? "The server could not process this file." : problem;
