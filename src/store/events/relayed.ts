import type { Log } from "../../kernel/index.ts";
import type { Events } from "./port.ts";
import { checkNotification, createSubscriptions } from "./subscriptions.ts";

export type Notification = readonly [topic: string, id: string];

/** Sends notifications to the other processes of this server, in order. */
export interface EventChannel {
  send(notifications: readonly Notification[]): void;
  /** Calls `listener` with notifications of other processes; undefined means that some may have been lost. */
  onReceived(listener: (notifications: readonly Notification[] | undefined) => void): void;
  close(): void;
}

/** Events of processes on one machine, passed on by a channel such as their supervisor. */
export function createRelayedEvents({ channel, log }: { channel: EventChannel; log: Log }): Events {
  const subscriptions = createSubscriptions(log);
  let pending: Notification[] = [];
  let isClosed = false;
  channel.onReceived((notifications) => {
    if (isClosed) return;
    if (notifications === undefined) return subscriptions.notifyPossibleLoss();
    for (const [topic, id] of notifications) subscriptions.deliver(topic, id);
  });

  function flush() {
    const notifications = pending;
    pending = [];
    channel.send(notifications);
    for (const [topic, id] of notifications) subscriptions.deliver(topic, id);
  }

  return {
    publish(topic, id) {
      checkNotification(topic, id);
      if (isClosed) return;
      // All notifications of one turn share a message.
      if (pending.push([topic, id]) === 1) queueMicrotask(flush);
    },
    subscribe: subscriptions.add,
    async close() {
      isClosed = true;
      // Delivers pending notifications first.
      await Promise.resolve();
      subscriptions.clear();
      channel.close();
    },
  };
}
