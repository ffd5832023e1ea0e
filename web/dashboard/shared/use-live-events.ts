import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useAccount } from "../api/account.ts";
import { apiUrl, authorization } from "../api/client.ts";

/** Reports that something in the topic changed. It has no content, so the page reads the changed data again. */
interface LiveEvent {
  topic: string;
  /** ID of the changed resource, if there is only one. */
  id?: string;
}

interface Subscription {
  topics: ReadonlySet<string>;
  onEvent: (event: LiveEvent) => void;
}

type LiveState = "connecting" | "connected" | "unavailable";

const RETRY_MS = { first: 1000, max: 30_000 };
/** Events that arrive within this time cause one reload. */
const BATCH_MS = 150;

const subscriptions = new Set<Subscription>();
const stateListeners = new Set<() => void>();
let state: LiveState = "connecting";
let connection: { account: string; stop: AbortController } | undefined;

/**
 * Reloads queries when the server reports a change of one of the topics: `useLiveEvents(["mail"], [["mail", "log"]])`.
 * `onEvent` receives each event as well. All subscriptions of a tab share one connection. Returns its state.
 */
export function useLiveEvents(
  topics: readonly string[],
  invalidates: readonly QueryKey[],
  onEvent?: (event: LiveEvent) => void,
): LiveState {
  const { id: account } = useAccount();
  const client = useQueryClient();
  const latest = useRef({ invalidates, onEvent });
  latest.current = { invalidates, onEvent };
  const [shownState, setShownState] = useState(state);
  const topicList = topics.join(" ");

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const subscription: Subscription = {
      topics: new Set(topicList.split(" ")),
      onEvent(event) {
        latest.current.onEvent?.(event);
        timer ??= setTimeout(() => {
          timer = undefined;
          for (const queryKey of latest.current.invalidates) void client.invalidateQueries({ queryKey });
        }, BATCH_MS);
      },
    };
    const onState = () => setShownState(state);
    subscriptions.add(subscription);
    stateListeners.add(onState);
    connect(account);
    onState();
    return () => {
      clearTimeout(timer);
      subscriptions.delete(subscription);
      stateListeners.delete(onState);
      // When the user navigates, the next page subscribes in the same task. Wait, so that the connection is reused.
      setTimeout(() => {
        if (subscriptions.size === 0) disconnect();
      }, 1000);
    };
  }, [account, client, topicList]);

  return shownState;
}

function connect(account: string): void {
  if (connection?.account === account) return;
  disconnect();
  const stop = new AbortController();
  connection = { account, stop };
  void run(account, stop.signal);
}

function disconnect(): void {
  connection?.stop.abort();
  connection = undefined;
}

function setState(changed: LiveState): void {
  state = changed;
  for (const listener of stateListeners) listener();
}

async function run(account: string, signal: AbortSignal): Promise<void> {
  let wait = RETRY_MS.first;
  while (!signal.aborted) {
    try {
      setState("connecting");
      const response = await fetch(apiUrl("/accounts/{account_id}/events", { account_id: account }), {
        headers: { ...authorization(), accept: "text/event-stream" },
        credentials: "omit",
        cache: "no-store",
        signal,
      });
      // The server has no events, or the session has ended: other requests show the reason.
      if (response.status >= 400 && response.status < 500) return setState("unavailable");
      if (response.ok && response.body !== null) {
        setState("connected");
        wait = RETRY_MS.first;
        await read(response.body);
      }
    } catch {
      // The connection was lost; the loop opens another one.
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, RETRY_MS.max);
  }
}

/** Events may have been missed. */
function reloadAll(): void {
  for (const { topics, onEvent } of subscriptions) for (const topic of topics) onEvent({ topic });
}

/** Reads Server-Sent Events (HTML 9.2): blocks of lines, separated by an empty line. */
async function read(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) dispatch(block);
  }
}

function dispatch(block: string): void {
  const valuesOf = (field: string) =>
    block
      .split("\n")
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).trimStart());
  const name = valuesOf("event")[0];
  // From `open` on, the server sends all events; what a page read before may be out of date.
  if (name === "open" || name === "resync") return reloadAll();
  const data = valuesOf("data").join("\n");
  if (data === "") return;
  let parsed: Partial<LiveEvent>;
  try {
    parsed = JSON.parse(data) as Partial<LiveEvent>;
  } catch {
    return;
  }
  const topic = parsed.topic ?? name;
  if (topic === undefined) return;
  const event: LiveEvent = { ...parsed, topic };
  for (const { topics, onEvent } of subscriptions) if (topics.has(topic)) onEvent(event);
}
