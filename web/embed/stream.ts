import { isMessage, PROPERTIES, READINGS, TYPE, type FromPlayer, type ToPlayer } from "../shared/messages.ts";
import { readSpans, timeRanges } from "./time-ranges.ts";

/** The player in a frame, much as if it were a media element of this page. */
export interface StreamApi extends EventTarget {
  play(): Promise<void>;
  pause(): void;
  readonly buffered: TimeRanges;
  readonly played: TimeRanges;
  [property: string]: unknown;
}

interface Call {
  resolve(): void;
  reject(err: Error): void;
}

interface Connection {
  api: StreamApi;
  /** A message that came from the frame, and the origin it came with. */
  hear(origin: string, message: FromPlayer): void;
}

/** Of calls that no answer came to: players of another kind do not answer. */
const MAX_CALLS = 100;

/** Pages put players in and take them out for days: what belongs to a frame goes with it. */
const connections = new WeakMap<HTMLIFrameElement, Connection>();
const frames = new Set<WeakRef<HTMLIFrameElement>>();

/** The same object for the same frame, however often it is asked for. Throws TypeError for what is no iframe. */
export function createStream(iframe: HTMLIFrameElement): StreamApi {
  // A frame of another document has another HTMLIFrameElement.
  if (iframe?.tagName !== "IFRAME") throw new TypeError("Stream() takes the iframe element with the player");
  const known = connections.get(iframe);
  if (known !== undefined) return known.api;
  const connection = connect(iframe);
  connections.set(iframe, connection);
  frames.add(new WeakRef(iframe));
  // Once for all of them: the same listener is not added twice.
  window.addEventListener("message", listen);
  return connection.api;
}

function listen({ source, origin, data }: MessageEvent): void {
  if (source === null || !isMessage(data)) return;
  for (const frame of frames) {
    const iframe = frame.deref();
    if (iframe === undefined) frames.delete(frame);
    else if (iframe.contentWindow === source)
      return connections.get(iframe)?.hear(origin, data as unknown as FromPlayer);
  }
}

function connect(iframe: HTMLIFrameElement): Connection {
  const api = new EventTarget() as StreamApi;
  const values: Record<string, unknown> = { ...PROPERTIES, ...READINGS };
  const calls = new Map<number, Call>();
  let ready = false;
  let lastCall = 0;
  // Before the player is there only the last value of a property counts, and the last command.
  const waiting = new Map<string, ToPlayer>();
  let spans: Record<"buffered" | "played", unknown> = { buffered: [], played: [] };

  const origin = () => (URL.canParse(iframe.src, location.href) ? new URL(iframe.src, location.href).origin : "null");

  function post(message: ToPlayer): void {
    const to = origin();
    if (to !== "null") iframe.contentWindow?.postMessage(message, to);
  }

  /** To anybody: as long as the frame is empty its origin is this page's, and there is nothing secret in a greeting. */
  const sayHello = () => iframe.contentWindow?.postMessage({ [TYPE]: "hello" } satisfies ToPlayer, "*");

  function send(key: string, message: ToPlayer): void {
    if (ready) return post(message);
    waiting.delete(key);
    waiting.set(key, message);
  }

  function greet(): void {
    ready = true;
    for (const message of waiting.values()) post(message);
    waiting.clear();
  }

  function hear(message: FromPlayer): void {
    switch (message[TYPE]) {
      case "iframeReady":
        return greet();
      case "event":
        if (typeof message.eventName === "string") api.dispatchEvent(new Event(message.eventName));
        return;
      case "propertyChange":
        if (message.property === "played") spans.played = message.value;
        // Only names that are known: others would lie over what the object is made of.
        else if (Object.hasOwn(values, message.property)) values[message.property] = message.value;
        return;
      case "bufferedTimeRangesUpdate":
        spans.buffered = message.timeRanges;
        return;
      case "called":
        return settle(message.call, message.error);
    }
  }

  function settle(number: number, error?: { name: string; message: string }): void {
    const call = calls.get(number);
    calls.delete(number);
    if (error === undefined) call?.resolve();
    else call?.reject(new DOMException(String(error.message), String(error.name)));
  }

  // Another page in the same frame is another player: it says so itself when it is there.
  iframe.addEventListener("load", () => {
    spans = { buffered: [], played: [] };
    sayHello();
  });

  for (const property of Object.keys(PROPERTIES)) {
    Object.defineProperty(api, property, {
      enumerable: true,
      get: () => values[property],
      set(value: unknown) {
        values[property] = value;
        send(property, { [TYPE]: "setProperty", property, value });
      },
    });
  }
  for (const reading of Object.keys(READINGS))
    Object.defineProperty(api, reading, { enumerable: true, get: () => values[reading] });
  for (const list of ["buffered", "played"] as const)
    Object.defineProperty(api, list, { enumerable: true, get: () => timeRanges(readSpans(spans[list])) });

  api.play = () =>
    new Promise<void>((resolve, reject) => {
      const call = ++lastCall;
      calls.set(call, { resolve, reject });
      const [oldest] = calls.keys();
      if (calls.size > MAX_CALLS && oldest !== undefined)
        settle(oldest, { name: "AbortError", message: "The player has not answered" });
      send("command", { [TYPE]: "playCommand", call });
    });
  api.pause = () => send("command", { [TYPE]: "pauseCommand" });

  // The frame may have been there before this script.
  sayHello();
  return {
    api,
    hear(from, message) {
      if (from === origin()) hear(message);
    },
  };
}
