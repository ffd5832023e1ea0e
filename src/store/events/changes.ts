import type { Events } from "./port.ts";

/** A changed resource, for clients that display it. */
export interface Change {
  /** The kind of resource, such as "videos". */
  topic: string;
  account: string;
  /** If the resource belongs to a zone. */
  zone?: string;
  /** Empty: several resources of this kind changed, or the id has characters that an event cannot carry. */
  id: string;
}

const TOPIC = "changes";
const CARRIED_ID = /^[!-~]{1,100}$/;

/** Publishes a change to the clients of every process. Changes may be lost, like every event. */
export function publishChange(events: Pick<Events, "publish">, { topic, account, zone = "", id }: Change): void {
  events.publish(TOPIC, `${topic}:${account}:${zone}:${CARRIED_ID.test(id) ? id : ""}`);
}

/** `listener` receives undefined if changes may have been lost. Returns a function that unsubscribes. */
export function onPublishedChange(
  events: Pick<Events, "subscribe">,
  listener: (change: Change | undefined) => void,
): () => void {
  return events.subscribe(TOPIC, (text) => {
    if (text === "") return listener(undefined);
    const [topic = "", account = "", zone = "", ...id] = text.split(":");
    listener({ topic, account, ...(zone !== "" && { zone }), id: id.join(":") });
  });
}
