import type { EventChannel } from "../../store/index.ts";

type Notifications = Parameters<EventChannel["send"]>[0];

/** Notifications from one process, which the supervisor passes on to the others. Null: some were lost. */
export interface NotificationsMessage {
  event: "notifications";
  notifications: Notifications | null;
}

/**
 * Maximum number of messages that are being written to a process. Without a limit, a process that does not read would
 * fill the memory.
 */
const MAX_UNSENT = 1000;

type Send = (message: NotificationsMessage, onSent: () => void) => void;

/** Sends messages while the receiver keeps up; otherwise drops them, and later reports that some were lost. */
export function createBoundedSender(send: Send, maxUnsent = MAX_UNSENT) {
  let unsent = 0;
  let hasDropped = false;

  return function sendBounded(notifications: Notifications | null): void {
    if (unsent >= maxUnsent) {
      hasDropped = true;
      return;
    }
    unsent++;
    send({ event: "notifications", notifications }, () => {
      unsent--;
      if (!hasDropped || unsent > 0) return;
      hasDropped = false;
      sendBounded(null);
    });
  };
}

/** The connection of a process to its supervisor, which passes notifications on to its other processes. */
export function supervisorChannel(
  supervised: Pick<NodeJS.Process, "send" | "on" | "off" | "connected"> = process,
): EventChannel {
  const send = createBoundedSender((message, onSent) => {
    // The supervisor has ended, and so will this process.
    if (!supervised.connected) return onSent();
    supervised.send?.(message, undefined, undefined, onSent);
  });
  const listeners: Parameters<EventChannel["onReceived"]>[0][] = [];
  const onMessage = (message: unknown) => {
    const { event, notifications } = message as NotificationsMessage;
    if (event === "notifications") for (const listener of listeners) listener(notifications ?? undefined);
  };
  supervised.on("message", onMessage);
  return {
    send,
    onReceived: (listener) => void listeners.push(listener),
    close: () => void supervised.off("message", onMessage),
  };
}
