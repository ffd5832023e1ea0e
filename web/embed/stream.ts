import {
  isMessage,
  PROPERTIES,
  READ_ONLY_PROPERTIES,
  MESSAGE_TYPE_KEY,
  type FromPlayer,
  type ToPlayer,
} from "../shared/messages.ts";
import { readSpans, timeRanges } from "./time-ranges.ts";

/** Controls the player in a frame, with an API similar to a media element. */
interface StreamApi extends EventTarget {
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
  /** Handles a message from the frame with its origin. */
  hear(origin: string, message: FromPlayer): void;
}

/** Maximum number of unanswered calls: other players do not respond. */
const MAX_CALLS = 100;

/** Pages may add and remove players for days, so state is bound to the frame. */
const connections = new WeakMap<HTMLIFrameElement, Connection>();
const frames = new Set<WeakRef<HTMLIFrameElement>>();

/** Returns the same object for the same iframe. Throws TypeError if the argument is not an iframe. */
export function createStream(iframe: HTMLIFrameElement): StreamApi {
  // A frame from another document has a different HTMLIFrameElement class.
  if (iframe?.tagName !== "IFRAME") throw new TypeError("Stream() requires the iframe element that embeds the player");
  const existingConnection = connections.get(iframe);
  if (existingConnection !== undefined) return existingConnection.api;
  const connection = connect(iframe);
  connections.set(iframe, connection);
  frames.add(new WeakRef(iframe));
  // Added only once: registering the same listener again has no effect.
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
  const values: Record<string, unknown> = { ...PROPERTIES, ...READ_ONLY_PROPERTIES };
  const calls = new Map<number, Call>();
  let isReady = false;
  let lastCall = 0;
  // Until the player is ready, only the last value of each property and the last command are kept.
  const waitingMessages = new Map<string, ToPlayer>();
  let spans: Record<"buffered" | "played", unknown> = { buffered: [], played: [] };

  const origin = () => (URL.canParse(iframe.src, location.href) ? new URL(iframe.src, location.href).origin : "null");

  function post(message: ToPlayer): void {
    const to = origin();
    if (to !== "null") iframe.contentWindow?.postMessage(message, to);
  }

  /**
   * Sent to any origin: while the frame is empty, its origin is that of this page, and the greeting contains no secret.
   */
  const postHello = () => iframe.contentWindow?.postMessage({ [MESSAGE_TYPE_KEY]: "hello" } satisfies ToPlayer, "*");

  function send(key: string, message: ToPlayer): void {
    if (isReady) return post(message);
    waitingMessages.delete(key);
    waitingMessages.set(key, message);
  }

  function sendGreeting(): void {
    isReady = true;
    for (const message of waitingMessages.values()) post(message);
    waitingMessages.clear();
  }

  function handleMessage(message: FromPlayer): void {
    switch (message[MESSAGE_TYPE_KEY]) {
      case "iframeReady":
        return sendGreeting();
      case "event":
        if (typeof message.eventName === "string") api.dispatchEvent(new Event(message.eventName));
        return;
      case "propertyChange":
        if (message.property === "played") spans.played = message.value;
        // Only known names are accepted: others would shadow members of the object.
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

  // If another page is loaded into the frame, it contains a new player, which announces itself.
  iframe.addEventListener("load", () => {
    spans = { buffered: [], played: [] };
    postHello();
  });

  for (const property of Object.keys(PROPERTIES)) {
    Object.defineProperty(api, property, {
      enumerable: true,
      get: () => values[property],
      set(value: unknown) {
        values[property] = value;
        send(property, { [MESSAGE_TYPE_KEY]: "setProperty", property, value });
      },
    });
  }
  for (const readingName of Object.keys(READ_ONLY_PROPERTIES))
    Object.defineProperty(api, readingName, { enumerable: true, get: () => values[readingName] });
  for (const list of ["buffered", "played"] as const)
    Object.defineProperty(api, list, { enumerable: true, get: () => timeRanges(readSpans(spans[list])) });

  api.play = () =>
    new Promise<void>((resolve, reject) => {
      const call = ++lastCall;
      calls.set(call, { resolve, reject });
      const [oldest] = calls.keys();
      if (calls.size > MAX_CALLS && oldest !== undefined)
        settle(oldest, { name: "AbortError", message: "The player did not respond" });
      send("command", { [MESSAGE_TYPE_KEY]: "playCommand", call });
    });
  api.pause = () => send("command", { [MESSAGE_TYPE_KEY]: "pauseCommand" });

  // The frame may have loaded before this script.
  postHello();
  return {
    api,
    hear(from, message) {
      if (from === origin()) handleMessage(message);
    },
  };
}
