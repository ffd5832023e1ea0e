import { AD_EVENTS, isMessage, MEDIA_EVENTS, TYPE, type FromPlayer } from "../shared/messages.ts";
import type { App } from "./app.ts";
import type { Properties } from "./properties.ts";

/** Tells the page around what happens, and does what it asks for. Nothing where the player is a page of its own. */
export function openChannel(app: App, properties: Properties): void {
  if (window.parent === window) return;
  const page = window.parent;
  let origin = app.options.parentOrigin ?? embedder();
  let told: Record<string, string> = {};
  let buffered = "[]";

  // Where the browser tells nobody who is around, whoever that is may know how far the video has come: it is no secret of theirs.
  const send = (message: FromPlayer) => page.postMessage(message, origin ?? "*");

  /** What has changed since the last time, before the event that comes of it: whoever hears the event reads the new value. */
  function tellProperties(): void {
    const spans = properties.buffered();
    const text = JSON.stringify(spans);
    if (text !== buffered) {
      buffered = text;
      send({ [TYPE]: "bufferedTimeRangesUpdate", timeRanges: spans });
    }
    for (const [property, value] of Object.entries(properties.read())) {
      const now = Number.isNaN(value) ? "NaN" : (JSON.stringify(value) ?? "");
      if (told[property] === now) continue;
      told[property] = now;
      send({ [TYPE]: "propertyChange", property, value });
    }
  }

  function tell(eventName: string): void {
    tellProperties();
    send({ [TYPE]: "event", eventName });
  }

  function greet(): void {
    send({ [TYPE]: "iframeReady" });
    told = {};
    buffered = "[]";
    tellProperties();
    // How large the picture is is known before anything is loaded, and pages make room by it.
    if (app.video().width > 0) send({ [TYPE]: "event", eventName: "resize" });
  }

  async function command(run: () => Promise<void> | void, call: unknown): Promise<void> {
    const answer = (error?: { name: string; message: string }) => {
      if (typeof call === "number") send({ [TYPE]: "called", call, ...(error && { error }) });
    };
    try {
      await run();
      answer();
    } catch (err) {
      answer({
        name: err instanceof Error ? err.name : "Error",
        message: err instanceof Error ? err.message : String(err),
      });
    }
  }

  window.addEventListener("message", (event) => {
    if (event.source !== page || (origin !== undefined && event.origin !== origin) || !isMessage(event.data)) return;
    const { data } = event;
    if (origin === undefined && event.origin !== "null") origin = event.origin;
    switch (data[TYPE]) {
      case "hello":
        return greet();
      case "setProperty":
        if (typeof data["property"] === "string") properties.write(data["property"], data["value"]);
        return tellProperties();
      case "playCommand":
        return void command(() => app.play(), data["call"]);
      case "pauseCommand":
        return void command(() => app.pause(), data["call"]);
    }
  });

  const { video: media } = app.layout;
  for (const name of MEDIA_EVENTS) media.addEventListener(name, () => tell(name));
  for (const name of [...AD_EVENTS, "error"]) app.events.addEventListener(name, () => tell(name));
  app.events.addEventListener("known", () => tell("resize"));
  greet();
}

/** Whose page the frame is in: by the list of ancestors, or else by what sent us here. */
function embedder(): string | undefined {
  const [ancestor] = location.ancestorOrigins ?? [];
  if (ancestor !== undefined) return ancestor === "null" ? undefined : ancestor;
  return URL.canParse(document.referrer) ? new URL(document.referrer).origin : undefined;
}
