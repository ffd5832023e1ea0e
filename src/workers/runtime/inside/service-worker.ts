// Runs ahead of a script in service-worker format, which has one entrance for everything: a message comes in as a request with a
// header that the server removes from every other request.
import { NO_HANDLER, dispatch, type ForwardableMessage } from "./message.ts";
import { META_HEADER } from "./shared.ts";

type Listener = (event: { type: "email"; message: ForwardableMessage; waitUntil(work: Promise<unknown>): void }) => unknown;

const emailListeners: Listener[] = [];
const addListener = globalThis.addEventListener.bind(globalThis);

globalThis.addEventListener = ((type: string, listener: never, options: never) => {
  if (type === "email") emailListeners.push(listener);
  else addListener(type as "fetch", listener, options);
}) as typeof globalThis.addEventListener;

addListener("fetch", (event) => {
  if (event.request.headers.has(META_HEADER)) event.respondWith(dispatch(event.request, event, (message) => deliver(message, event)));
});

async function deliver(message: ForwardableMessage, event: FetchEvent): Promise<void> {
  if (emailListeners.length === 0) throw new Error(NO_HANDLER);
  // A listener has no other way to say "not finished" than waitUntil(), so the message is settled when that work is.
  const work: unknown[] = [];
  const waitUntil = (promise: Promise<unknown>) => {
    work.push(promise);
    event.waitUntil(promise);
  };
  for (const listener of emailListeners) work.push(listener({ type: "email", message, waitUntil }));
  await Promise.all(work);
}
