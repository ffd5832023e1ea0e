import type { Log } from "../../kernel/index.ts";
import type { Events } from "./port.ts";
import { checkNotification, createSubscriptions } from "./subscriptions.ts";

/** Events within one process. */
export function createLocalEvents({ log }: { log: Log }): Events {
  const subscriptions = createSubscriptions(log);
  let closed = false;
  return {
    publish(topic, id) {
      checkNotification(topic, id);
      if (!closed) queueMicrotask(() => subscriptions.deliver(topic, id));
    },
    subscribe: subscriptions.add,
    async close() {
      closed = true;
      // Delivers pending notifications first.
      await Promise.resolve();
      subscriptions.clear();
    },
  };
}
