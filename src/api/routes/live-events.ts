import { apiErrors } from "../errors.ts";
import { route, type Route } from "../operation.ts";
import { liveEventsOperation } from "./live-events-operation.ts";

/** A change: `id` identifies the changed item of the topic; "" means that any item may have changed. */
interface LiveEvent {
  topic: string;
  id: string;
}

/** The changes of an account. They carry no data: the client reads it again. */
export interface LiveEventFeed {
  /** Returns the unsubscribe function. */
  subscribe(account: string, listener: (event: LiveEvent) => void): () => void;
}

/** The topics of `reelpost dev`. */
const DEV_TOPICS = ["inbox", "workers"] as const;
const MAX_STREAMS = 200;
/** Changes that wait for a slow client; more are summarized as one event per topic. */
const MAX_WAITING = 200;
const HEARTBEAT_MS = 15_000;
/** How soon a client connects again after a lost connection. */
const RECONNECT_MS = 2000;

interface LiveEventRoutesDeps {
  events: LiveEventFeed;
  /** Ends all streams, so that the server can stop. */
  stopping: AbortSignal;
}

/** Live changes of an account as Server-Sent Events. */
export function liveEventRoutes({ events, stopping }: LiveEventRoutesDeps): Route[] {
  let streams = 0;

  return [
    route(liveEventsOperation(DEV_TOPICS), async ({ params, query }) => {
      if (streams >= MAX_STREAMS) throw apiErrors.busy();
      const topics = query.topics === undefined ? undefined : new Set<string>(query.topics);
      streams++;
      return new Response(
        eventStream({
          subscribe: (listener) =>
            events.subscribe(params.account_id!, (event) => {
              if (topics === undefined || topics.has(event.topic)) listener(event);
            }),
          onClosed: () => streams--,
          stopping,
        }),
        { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } },
      );
    }),
  ];
}

interface EventStreamOptions {
  subscribe(listener: (event: LiveEvent) => void): () => void;
  onClosed(): void;
  stopping: AbortSignal;
}

/** Keeps a bounded number of events for a slow reader. */
function eventStream({ subscribe, onClosed, stopping }: EventStreamOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let waiting: LiveEvent[] = [];
  let unsubscribe = () => {};
  let heartbeat: NodeJS.Timeout | undefined;
  let resume: (() => void) | undefined;
  let isClosed = false;

  const close = () => {
    if (isClosed) return;
    isClosed = true;
    unsubscribe();
    clearInterval(heartbeat);
    stopping.removeEventListener("abort", close);
    resume?.();
    onClosed();
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\nevent: open\ndata: {}\n\n`));
        unsubscribe = subscribe((event) => {
          if (waiting.some(({ topic, id }) => topic === event.topic && id === event.id)) return;
          waiting.push(event);
          if (waiting.length > MAX_WAITING)
            waiting = [...new Set(waiting.map(({ topic }) => topic))].map((topic) => ({ topic, id: "" }));
          resume?.();
        });
        heartbeat = setInterval(() => {
          // A reader that is behind needs no heartbeat.
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": keep-alive\n\n"));
        }, HEARTBEAT_MS);
        heartbeat.unref();
        stopping.addEventListener("abort", close, { once: true });
        if (stopping.aborted) close();
      },
      async pull(controller) {
        if (waiting.length === 0 && !isClosed) await new Promise<void>((resolve) => (resume = resolve));
        if (isClosed) return controller.close();
        const events = waiting;
        waiting = [];
        controller.enqueue(
          encoder.encode(events.map((event) => `event: change\ndata: ${JSON.stringify(event)}\n\n`).join("")),
        );
      },
      cancel: close,
    },
    { highWaterMark: 2 },
  );
}
