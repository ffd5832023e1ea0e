import type { Events } from "../../store/index.ts";

/**
 * Ensures that one request at a time writes an upload. A later request asks the holder to release the lock, because the
 * holder may hang on a dead connection. Within this process the lock is exclusive. Other processes are notified and
 * release it a moment later: until then they write the same bytes at the same offset, and acknowledge only data that is
 * stored.
 */
export interface UploadLock {
  /**
   * Resolves with the release function, or with undefined if the holder did not release the lock within `waitMs`.
   * `onContended` is called when another request is waiting; without it the lock is held to the end.
   */
  acquire(
    id: string,
    options?: { onContended?: () => void; signal?: AbortSignal; waitMs?: number },
  ): Promise<(() => void) | undefined>;
  has(id: string): boolean;
  close(): void;
}

/**
 * Event: a process has acquired the lock. Contains the uid of the upload and the id of the process, which ignores its
 * own events.
 */
const LOCK_EVENT = "stream.upload.turn";

interface Lock {
  ended: Promise<void>;
  onContended: (() => void) | undefined;
}

export function createUploadLock({ events, process }: { events: Events; process: string }): UploadLock {
  const locks = new Map<string, Lock>();
  const unsubscribe = events.subscribe(LOCK_EVENT, (hint) => {
    const [id = "", requesterId] = hint.split(":");
    if (requesterId !== process) locks.get(id)?.onContended?.();
  });

  return {
    close: unsubscribe,
    has: (id) => locks.has(id),
    async acquire(id, { onContended, signal, waitMs = 5000 } = {}) {
      const { promise: waitTimeout, resolve } = Promise.withResolvers<"late">();
      const timer = setTimeout(resolve, waitMs, "late").unref();
      const abort = () => resolve("late");
      signal?.addEventListener("abort", abort, { once: true });
      try {
        for (let before = locks.get(id); before !== undefined; before = locks.get(id)) {
          if (signal?.aborted === true) return undefined;
          before.onContended?.();
          if ((await Promise.race([before.ended, waitTimeout])) === "late") return undefined;
        }
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      }
      const { promise: whenReleased, resolve: end } = Promise.withResolvers<void>();
      const lock: Lock = { ended: whenReleased, onContended };
      locks.set(id, lock);
      events.publish(LOCK_EVENT, `${id}:${process}`);
      return () => {
        if (locks.get(id) === lock) locks.delete(id);
        end();
      };
    },
  };
}
