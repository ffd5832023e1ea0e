import { AD_EVENTS, isMessage, MEDIA_EVENTS, MESSAGE_TYPE_KEY, type FromPlayer } from "../shared/messages.ts";
import type { App } from "./app.ts";
import type { Properties } from "./properties.ts";

/** Sends events to the embedding page and executes its commands. Does nothing if the player is not embedded. */
export function openChannel(app: App, properties: Properties): void {
  if (window.parent === window) return;
  const page = window.parent;
  let origin = app.options.parentOrigin ?? embedder();
  let reported: Record<string, string> = {};
  let buffered = "[]";

  // If the browser does not reveal the embedding page, any page may receive the playback state, which is not secret.
  const send = (message: FromPlayer) => page.postMessage(message, origin ?? "*");

  /** Sends changed properties before the event they cause, so that listeners read the new values. */
  function sendProperties(): void {
    const spans = properties.buffered();
    const text = JSON.stringify(spans);
    if (text !== buffered) {
      buffered = text;
      send({ [MESSAGE_TYPE_KEY]: "bufferedTimeRangesUpdate", timeRanges: spans });
    }
    for (const [property, value] of Object.entries(properties.read())) {
      const now = Number.isNaN(value) ? "NaN" : (JSON.stringify(value) ?? "");
      if (reported[property] === now) continue;
      reported[property] = now;
      send({ [MESSAGE_TYPE_KEY]: "propertyChange", property, value });
    }
  }

  function sendEvent(eventName: string): void {
    sendProperties();
    send({ [MESSAGE_TYPE_KEY]: "event", eventName });
  }

  function sendGreeting(): void {
    send({ [MESSAGE_TYPE_KEY]: "iframeReady" });
    reported = {};
    buffered = "[]";
    sendProperties();
    // The video size is known before anything is loaded, and pages use it for their layout.
    if (app.video().width > 0) send({ [MESSAGE_TYPE_KEY]: "event", eventName: "resize" });
  }

  async function runCommand(run: () => Promise<void> | void, call: unknown): Promise<void> {
    const answer = (error?: { name: string; message: string }) => {
      if (typeof call === "number") send({ [MESSAGE_TYPE_KEY]: "called", call, ...(error && { error }) });
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
    switch (data[MESSAGE_TYPE_KEY]) {
      case "hello":
        return sendGreeting();
      case "setProperty":
        if (typeof data["property"] === "string") properties.write(data["property"], data["value"]);
        return sendProperties();
      case "playCommand":
        return void runCommand(() => app.play(), data["call"]);
      case "pauseCommand":
        return void runCommand(() => app.pause(), data["call"]);
    }
  });

  const { video: media } = app.layout;
  for (const name of MEDIA_EVENTS) media.addEventListener(name, () => sendEvent(name));
  for (const name of [...AD_EVENTS, "error"]) app.events.addEventListener(name, () => sendEvent(name));
  app.events.addEventListener("known", () => sendEvent("resize"));
  sendGreeting();
}

/** Returns the origin of the embedding page: from the list of ancestors, otherwise from the referrer. */
function embedder(): string | undefined {
  const [ancestor] = location.ancestorOrigins ?? [];
  if (ancestor !== undefined) return ancestor === "null" ? undefined : ancestor;
  return URL.canParse(document.referrer) ? new URL(document.referrer).origin : undefined;
}
