// The page at a one-time upload URL: choose or drop a file and follow its upload.
import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";
import { refusalOf } from "./check-file.ts";
import { createPace } from "./figures.ts";
import { followUpload } from "./progress.ts";
import { startTransfer, type Transfer } from "./transfer.ts";
import { createView } from "./view.ts";

const config = JSON.parse(document.getElementById("config")?.textContent ?? "") as UploadPageConfig;
const root = document.getElementById("upload") ?? document.body;
const address = location.origin + location.pathname;
const pace = createPace();
let file: File | undefined;
let transfer: Transfer | undefined;
let step: "sending" | "paused" | undefined;
let sent = 0;
/** Number of files chosen so far: events for an earlier file are ignored. */
let turn = 0;
/** True if the URL accepts a file now. */
let isOpen = config.state === "open" || config.problem?.retry === true;

const view = createView(root, config, {
  file: (chosenFile) => void begin(chosenFile),
  pause() {
    transfer?.pause();
    step = "paused";
    show();
  },
  resume: () => resume(),
  another() {
    transfer?.pause();
    turn++;
    step = undefined;
    view.show({ step: "choose" });
  },
});

/** Shows the processing state of the uploaded file until the video is ready or has failed. */
function follow(): void {
  const ownTurn = turn;
  isOpen = false;
  followUpload(address, (state) => {
    if (ownTurn !== turn) return false;
    showState(state);
    return state.state === "processing";
  });
}

function showState(state: UploadPageConfig): void {
  const watch = state.watch === undefined ? {} : { watch: state.watch };
  isOpen = state.state === "open" || state.problem?.retry === true;
  switch (state.state) {
    case "open":
      return view.show({ step: "choose" });
    case "processing":
      return view.show({ step: "processing", percent: state.pctComplete ?? 0, ...(state.playable === true && watch) });
    case "ready":
      return view.show({ step: "ready", ...watch });
    case "failed":
      return view.show({
        step: "unusable",
        code: state.problem?.code ?? "",
        problem: state.problem?.text ?? "",
        retry: state.problem?.retry === true,
      });
    case "expired":
      return view.show({ step: "expired" });
  }
}

async function begin(chosenFile: File): Promise<void> {
  const ownTurn = ++turn;
  transfer?.pause();
  const problem = await refusalOf(chosenFile, config);
  if (ownTurn !== turn) return;
  if (problem !== undefined) return view.show({ step: "choose", problem });
  file = chosenFile;
  sent = 0;
  pace.clear();
  step = "sending";
  show();
  transfer = await startTransfer(address, chosenFile, config, {
    progress(sentBytes) {
      if (ownTurn !== turn) return;
      sent = sentBytes;
      pace.note(sentBytes, performance.now());
      show();
    },
    done() {
      if (ownTurn !== turn) return;
      step = undefined;
      showState({ state: "processing" });
      follow();
    },
    failed(text, isRejected) {
      if (ownTurn !== turn) return;
      step = undefined;
      view.show(
        isRejected
          ? { step: "unusable", code: "", problem: text, retry: true }
          : { step: "failed", name: chosenFile.name, problem: text },
      );
    },
  });
  // Paused before the start, or another file has been chosen in the meantime.
  if (ownTurn !== turn || currentStep() === "paused") transfer.pause();
}

function resume(): void {
  step = "sending";
  pace.clear();
  show();
  transfer?.resume();
}

const currentStep = () => step;

function show(): void {
  if (file !== undefined && step !== undefined)
    view.show({ step, name: file.name, size: file.size, sent, speed: pace.speed() });
}

showState(config);
if (config.state === "processing") follow();

// The whole page accepts a dropped file: outside the drop zone, the browser would otherwise navigate to the file.
for (const type of ["dragenter", "dragover", "dragleave", "drop"] as const) {
  window.addEventListener(type, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dragging", type === "dragenter" || type === "dragover");
    const [droppedFile] = type === "drop" ? (event.dataTransfer?.files ?? []) : [];
    if (droppedFile !== undefined && isOpen && step === undefined) void begin(droppedFile);
  });
}
window.addEventListener("beforeunload", (event) => {
  if (step === "sending") event.preventDefault();
});
