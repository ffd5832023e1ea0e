import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";
import { h, icon } from "../player/elements.ts";
import { sizeText, timeText } from "./figures.ts";

export type Shown =
  | { step: "choose"; problem?: string }
  | { step: "sending" | "paused"; name: string; size: number; sent: number; speed: number }
  | { step: "failed"; name: string; problem: string }
  | { step: "done"; watch?: string }
  | { step: "expired" };

export interface ViewEvents {
  file(file: File): void;
  pause: () => void;
  resume: () => void;
  another: () => void;
}

const ARROW = "M11 15.5V7.4L8.4 10 7 8.6 12 3.6l5 5-1.4 1.4L13 7.4v8.1zM5 20.4q-.8 0-1.4-.6T3 18.4v-3h2v3h14v-3h2v3q0 .8-.6 1.4t-1.4.6z";
const CHECK = "m9.5 17.6-5.3-5.3 1.4-1.4 3.9 3.9 8.9-8.9 1.4 1.4z";

/** The one card of the page, in its steps. */
export function createView(root: HTMLElement, limits: UploadPageConfig, events: ViewEvents): { show(shown: Shown): void } {
  const input = h("input", { type: "file", id: "file", accept: "video/*,audio/*,.mkv,.mxf,.ts,.m2ts,.flv,.avi", class: "visually-hidden" });
  const problem = h("p", { class: "problem", role: "alert" });
  const zone = h("label", { class: "zone", for: "file" }, icon(ARROW), h("span", { class: "zone-title" }, "Drop a video here"), h("span", {}, "or ", h("span", { class: "link" }, "choose a file")), h("span", { class: "hint" }, limitsText(limits)));
  const name = h("p", { class: "name" });
  const bar = h("div", { class: "fill" });
  const track = h("div", { class: "track", role: "progressbar", "aria-label": "Upload", "aria-valuemin": 0, "aria-valuemax": 100 }, bar);
  const percent = h("span", { class: "percent" });
  const detail = h("span", { class: "detail" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const toggle = h("button", { type: "button", class: "button strong" });
  const another = button("Choose another file", "button", events.another);
  let paused = false;

  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    input.value = "";
    if (file !== undefined) events.file(file);
  });
  toggle.addEventListener("click", () => (paused ? events.resume() : events.pause()));

  const choose = h("section", {}, h("h1", {}, "Upload a video"), input, zone, problem);
  const sending = h("section", {}, name, track, h("p", { class: "figures" }, percent, detail), status, h("p", { class: "buttons" }, toggle, another));
  const result = h("section", { class: "result" });
  root.append(h("div", { class: "card" }, choose, sending, result));

  return {
    show(shown) {
      choose.hidden = shown.step !== "choose";
      sending.hidden = shown.step !== "sending" && shown.step !== "paused";
      result.hidden = shown.step !== "done" && shown.step !== "expired" && shown.step !== "failed";
      switch (shown.step) {
        case "choose":
          problem.textContent = shown.problem ?? "";
          document.title = "Upload a video";
          return;
        case "sending":
        case "paused":
          return showProgress(shown);
        case "failed":
          document.title = "Upload stopped";
          return result.replaceChildren(h("h1", {}, "The upload stopped"), h("p", { role: "alert" }, shown.problem), h("p", { class: "hint" }, `What has arrived of ${shown.name} is kept: it goes on from there.`), h("p", { class: "buttons" }, button("Try again", "button strong", events.resume), button("Choose another file", "button", events.another)));
        case "done":
          document.title = "Upload complete";
          return result.replaceChildren(
            h("div", { class: "badge" }, icon(CHECK)), h("h1", {}, "Your video has arrived"), h("p", { class: "hint", role: "status" }, "It is being prepared, and can be watched in a moment. You can close this page."),
            ...(shown.watch === undefined ? [] : [h("p", { class: "buttons" }, h("a", { class: "button strong", href: shown.watch }, "Watch it"))]),
          );
        case "expired":
          document.title = "Upload expired";
          return result.replaceChildren(h("h1", {}, "This upload link has expired"), h("p", { class: "hint" }, "Ask whoever sent it to you for another one."));
      }
    },
  };

  function showProgress({ step, name: file, size, sent, speed }: Extract<Shown, { sent: number }>): void {
    const share = size === 0 ? 0 : Math.min(1, sent / size);
    const whole = Math.floor(share * 100);
    paused = step === "paused";
    name.textContent = file;
    bar.style.width = `${share * 100}%`;
    track.setAttribute("aria-valuenow", String(whole));
    percent.textContent = `${whole} %`;
    const left = paused ? "paused" : speed > 0 ? `${sizeText(speed)}/s · ${timeText((size - sent) / speed)} left` : "";
    detail.textContent = [`${sizeText(sent)} of ${sizeText(size)}`, left].filter((part) => part !== "").join(" · ");
    toggle.textContent = paused ? "Resume" : "Pause";
    sending.classList.toggle("paused", paused);
    document.title = `${whole} % – Upload`;
    // Read aloud now and then, not with every octet.
    const spoken = paused ? "Paused" : `${Math.floor(whole / 10) * 10} percent`;
    if (status.textContent !== spoken) status.textContent = spoken;
  }
}

function button(label: string, kind: string, press: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", class: kind }, label);
  element.addEventListener("click", press);
  return element;
}

function limitsText({ maxBytes, maxDurationSeconds }: UploadPageConfig): string {
  const parts = [...(maxBytes === undefined ? [] : [sizeText(maxBytes)]), ...(maxDurationSeconds === undefined ? [] : [timeText(maxDurationSeconds)])];
  return parts.length === 0 ? "" : `Up to ${parts.join(", ")}`;
}
