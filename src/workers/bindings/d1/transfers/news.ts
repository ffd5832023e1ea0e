import type { Clock } from "../../../../kernel/index.ts";
import type { Events } from "../../../../store/index.ts";

const TOPIC = "d1-transfer";
/** How often to check without a notification: notifications may be lost. */
const POLL_INTERVAL_MS = 1_000;

/** Notifies waiters in any process that a transfer may have changed. */
interface TransferNotifications {
  notify(id: string): void;
  /** `changed` settles when the transfer may have changed, after a second at the latest, and when the signal aborts. */
  waitForChange(id: string, withinMs: number, signal?: AbortSignal): { changed: Promise<void>; end(): void };
  close(): void;
}

export function createTransferNotifications(events: Events, clock: Clock): TransferNotifications {
  const waitersById = new Map<string, Set<() => void>>();
  const unsubscribe = events.subscribe(TOPIC, (id) => {
    for (const wake of id === "" ? [...waitersById.values()].flatMap((all) => [...all]) : (waitersById.get(id) ?? []))
      wake();
  });

  return {
    notify: (id) => events.publish(TOPIC, id),
    waitForChange(id, withinMs, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const aborter = new AbortController();
      const all = waitersById.get(id) ?? new Set();
      waitersById.set(id, all.add(resolve));
      signal?.addEventListener("abort", () => resolve(), { once: true, signal: aborter.signal });
      clock.sleep(Math.max(0, Math.min(withinMs, POLL_INTERVAL_MS)), aborter.signal).then(resolve, () => {});
      return {
        changed: promise,
        end() {
          aborter.abort();
          all.delete(resolve);
          if (all.size === 0) waitersById.delete(id);
        },
      };
    },
    close() {
      unsubscribe();
      for (const all of waitersById.values()) for (const wake of all) wake();
    },
  };
}
