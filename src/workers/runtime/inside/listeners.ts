// addEventListener("fetch" | "email" | "scheduled" | "queue" | "tail") for a script that workerd runs as part of a
// module worker, where nothing dispatches these events. They are created here and dispatched on the global scope, whose
// own EventTarget handles order, `once`, removal, `this` and `target`.
import type { ForwardableMessage } from "./message.ts";

type Context = Pick<ExecutionContext, "waitUntil" | "passThroughOnException">;

export interface Handlers {
  fetch?(request: Request, env: unknown, context: Context): Promise<Response>;
  email?(message: ForwardableMessage, env: unknown, context: Context): Promise<void>;
  scheduled?(controller: ScheduledController, env: unknown, context: Context): Promise<void>;
  queue?(batch: MessageBatch, env: unknown, context: Context): Promise<void>;
  tail?(events: object[], env: unknown, context: Context): Promise<void>;
}

type Listener = ((this: unknown, event: Event) => unknown) | { handleEvent(event: Event): unknown };
type Register = (type: string, listener: Listener, options?: unknown) => void;

type Native = { prototype: object };
// Captured before the script runs, because its bindings may have any name.
const { FetchEvent, ScheduledEvent, ExtendableEvent } = globalThis as unknown as Record<
  "FetchEvent" | "ScheduledEvent" | "ExtendableEvent",
  Native
>;
const [add, remove, send] = [globalThis.addEventListener, globalThis.removeEventListener, globalThis.dispatchEvent].map(
  (method: Function) => method.bind(globalThis),
) as [Register, Register, (event: Event) => void];

const KINDS = new Set(["fetch", "email", "scheduled", "queue", "tail"]);
const listenedTypes = new Set<string>();
const wrappers = new WeakMap<Listener, Listener>();
/** For each running event: the return values of its listeners, and the last error thrown. */
const dispatchStates = new WeakMap<Event, { results: unknown[]; thrown?: { reason: unknown } }>();

globalThis.addEventListener = ((type: string, listener: Listener, options) => {
  add(type, KINDS.has(type) ? wrapperOf(listener) : listener, options);
  listenedTypes.add(type);
}) satisfies Register as typeof globalThis.addEventListener;

globalThis.removeEventListener = ((type: string, listener: Listener, options) =>
  remove(
    type,
    KINDS.has(type) ? wrapperOf(listener) : listener,
    options,
  )) satisfies Register as typeof globalThis.removeEventListener;

/**
 * dispatchEvent() discards the return value of a listener and, from a certain compatibility date, exceptions it throws.
 */
function wrapperOf(listener: Listener): Listener {
  // The EventTarget rejects a non-listener with its own error message.
  if (typeof listener !== "function" && typeof listener?.handleEvent !== "function") return listener;
  const wrapper =
    wrappers.get(listener) ??
    function (this: unknown, event: Event): void {
      const call = () => (typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event));
      const dispatchState = dispatchStates.get(event);
      // The event was created by the script.
      if (dispatchState === undefined) return void call();
      try {
        dispatchState.results.push(call());
      } catch (reason) {
        dispatchState.thrown = { reason };
        event.stopImmediatePropagation();
      }
    };
  wrappers.set(listener, wrapper);
  return wrapper;
}

/**
 * Returns an event of the runtime's own class, which code cannot construct: `instanceof` works, and its methods are
 * those of `own`.
 */
function eventOf(type: string, { prototype }: Native, own: object): Event {
  const event = Object.setPrototypeOf(new Event(type, { cancelable: true }), prototype) as Event;
  return Object.defineProperties(event, Object.getOwnPropertyDescriptors(own));
}

/** Runs the listeners; rethrows an error thrown by one of them, otherwise returns their return values. */
function dispatch(event: Event): unknown[] {
  const dispatchState: { results: unknown[]; thrown?: { reason: unknown } } = { results: [] };
  dispatchStates.set(event, dispatchState);
  send(event);
  if (dispatchState.thrown !== undefined) throw dispatchState.thrown.reason;
  return dispatchState.results;
}

const invalidStateError = (message: string) => new DOMException(message, "InvalidStateError");

/**
 * The first call of respondWith() stops the propagation, as in workerd. There, an event without a response would be
 * forwarded to the origin: here the worker is the origin, and its request would loop forever.
 */
async function fetch(request: Request, _env: unknown, context: Context): Promise<Response> {
  let answer: Promise<Response> | undefined;
  let isDispatchOver = false;
  const event = eventOf("fetch", FetchEvent, {
    request,
    respondWith(response: unknown) {
      if (answer !== undefined)
        throw invalidStateError("FetchEvent.respondWith() has already been called; it can only be called once.");
      if (isDispatchOver)
        throw invalidStateError(
          "Too late to call FetchEvent.respondWith(). It must be called synchronously in the event handler.",
        );
      if (
        !(response instanceof Response) &&
        typeof (response as PromiseLike<Response> | undefined)?.then !== "function"
      ) {
        throw new TypeError("Failed to execute 'respondWith' on 'FetchEvent': parameter 1 is not of type 'Promise'.");
      }
      event.stopImmediatePropagation();
      answer = Promise.resolve(response as Response);
    },
    waitUntil: (work: Promise<unknown>) => context.waitUntil(work),
    passThroughOnException: () => context.passThroughOnException(),
  });
  try {
    dispatch(event);
  } finally {
    isDispatchOver = true;
  }
  if (answer === undefined)
    throw new Error(
      "FetchEvent handler did not call respondWith() before returning, and there is no origin behind this worker that could answer.",
    );
  return answer;
}

/**
 * A listener can signal pending work only through waitUntil() and its promise, so the outcome of the message is decided
 * when those have settled.
 */
async function email(message: ForwardableMessage, _env: unknown, context: Context): Promise<void> {
  const work: unknown[] = [];
  const waitUntil = (promise: Promise<unknown>) => {
    work.push(promise);
    context.waitUntil(promise);
  };
  work.push(...dispatch(eventOf("email", ExtendableEvent, { message, waitUntil })));
  while (work.length > 0) await Promise.all(work.splice(0));
}

async function scheduled(controller: ScheduledController, _env: unknown, context: Context): Promise<void> {
  const { scheduledTime, cron } = controller;
  const own = {
    scheduledTime,
    cron,
    noRetry: () => controller.noRetry(),
    waitUntil: (work: Promise<unknown>) => context.waitUntil(work),
  };
  await Promise.all(dispatch(eventOf("scheduled", ScheduledEvent, own)));
}

async function queue(batch: MessageBatch, _env: unknown, context: Context): Promise<void> {
  const own = {
    queue: batch.queue,
    messages: batch.messages,
    metadata: batch.metadata,
    retryAll: (options?: QueueRetryOptions) => batch.retryAll(options),
    ackAll: () => batch.ackAll(),
    waitUntil: (work: Promise<unknown>) => context.waitUntil(work),
  };
  await Promise.all(dispatch(eventOf("queue", ExtendableEvent, own)));
}

async function tail(events: object[], _env: unknown, context: Context): Promise<void> {
  const own = { events, traces: events, waitUntil: (work: Promise<unknown>) => context.waitUntil(work) };
  await Promise.all(dispatch(eventOf("tail", ExtendableEvent, own)));
}

/** Returns one handler for each kind of event that has a listener when this function runs. */
export const handlersOfListeners = (): Handlers => ({
  ...(listenedTypes.has("fetch") && { fetch }),
  ...(listenedTypes.has("email") && { email }),
  ...(listenedTypes.has("scheduled") && { scheduled }),
  ...(listenedTypes.has("queue") && { queue }),
  ...(listenedTypes.has("tail") && { tail }),
});
