import { Fault, type Log } from "../../kernel/index.ts";

/** Subscriptions in this process. */
interface Subscriptions {
  add(topic: string, handler: (id: string) => void): () => void;
  deliver(topic: string, id: string): void;
  /** Notifies all listeners that notifications may have been lost. */
  notifyPossibleLoss(): void;
  clear(): void;
}

export function createSubscriptions(log: Log): Subscriptions {
  const topics = new Map<string, Set<(id: string) => void>>();

  function call(handler: (id: string) => void, topic: string, id: string) {
    try {
      handler(id);
    } catch (err) {
      log.error({ err, topic }, "events: listener failed");
    }
  }

  return {
    add(topic, handler) {
      checkWord("topic", topic, MAX_TOPIC_LENGTH);
      // Creates a separate function per subscription: one listener may subscribe twice and unsubscribe once.
      const listener = (id: string) => handler(id);
      const listeners = topics.get(topic) ?? new Set();
      topics.set(topic, listeners.add(listener));
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) topics.delete(topic);
      };
    },
    // Iterates over a copy: a listener added during delivery is called next time.
    deliver(topic, id) {
      for (const handler of Array.from(topics.get(topic) ?? [])) call(handler, topic, id);
    },
    notifyPossibleLoss() {
      for (const [topic, listeners] of Array.from(topics))
        for (const handler of Array.from(listeners)) call(handler, topic, "");
    },
    clear: () => topics.clear(),
  };
}

const MAX_TOPIC_LENGTH = 100;
const MAX_ID_LENGTH = 200;

/** PostgreSQL limits a notification to 8000 bytes. */
export function checkNotification(topic: string, id: string): void {
  checkWord("topic", topic, MAX_TOPIC_LENGTH);
  checkWord("id", id, MAX_ID_LENGTH);
}

function checkWord(wordKind: string, word: string, maxLength: number) {
  if (word.length <= maxLength && /^[!-~]+$/.test(word)) return;
  throw new Fault(
    `the ${wordKind} of an event must be 1 to ${maxLength} visible ASCII characters, not ${JSON.stringify(word.slice(0, 250))}`,
  );
}
