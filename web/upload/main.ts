// The page at a one-time upload address: choose or drop a file, and watch it go.
import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";
import { refusalOf } from "./check-file.ts";
import { createPace } from "./figures.ts";
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
/** Of the file that was chosen last: what an earlier one still has to say is not heard. */
let turn = 0;

const view = createView(root, config, {
  file: (chosen) => void begin(chosen),
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

async function begin(chosen: File): Promise<void> {
  const mine = ++turn;
  transfer?.pause();
  const problem = await refusalOf(chosen, config);
  if (mine !== turn) return;
  if (problem !== undefined) return view.show({ step: "choose", problem });
  file = chosen;
  sent = 0;
  pace.clear();
  step = "sending";
  show();
  transfer = await startTransfer(address, chosen, config, {
    progress(octets) {
      if (mine !== turn) return;
      sent = octets;
      pace.note(octets, performance.now());
      show();
    },
    done() {
      if (mine !== turn) return;
      step = undefined;
      view.show({ step: "done", ...(config.watch !== undefined && { watch: config.watch }) });
    },
    failed(text) {
      if (mine !== turn) return;
      step = undefined;
      view.show({ step: "failed", name: chosen.name, problem: text });
    },
  });
  // Paused before it had begun, or another file was chosen meanwhile.
  if (mine !== turn || stepNow() === "paused") transfer.pause();
}

function resume(): void {
  step = "sending";
  pace.clear();
  show();
  transfer?.resume();
}

const stepNow = () => step;

function show(): void {
  if (file !== undefined && step !== undefined) view.show({ step, name: file.name, size: file.size, sent, speed: pace.speed() });
}

view.show(config.state === "open" ? { step: "choose" } : config.state === "done" ? { step: "done", ...(config.watch !== undefined && { watch: config.watch }) } : { step: "expired" });

// The whole page takes what is dropped: beside the zone the browser would leave for the file.
for (const type of ["dragenter", "dragover", "dragleave", "drop"] as const) {
  window.addEventListener(type, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dragging", type === "dragenter" || type === "dragover");
    const [dropped] = type === "drop" ? (event.dataTransfer?.files ?? []) : [];
    if (dropped !== undefined && config.state === "open" && step === undefined) void begin(dropped);
  });
}
window.addEventListener("beforeunload", (event) => {
  if (step === "sending") event.preventDefault();
});
