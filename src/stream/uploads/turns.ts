import type { Events } from "../../store/index.ts";

/**
 * One upload is written by one request at a time; who comes later asks the one before to let go, as it may hang on a connection that is no more.
 * Within this process nobody begins before the other has ended. Other processes are told, and let go a moment later: what they write until then
 * is at the same place, and nothing of it is acknowledged that is not there.
 */
export interface Turns {
  /**
   * Resolves with the end of the turn, or with undefined when the one before did not let go within `waitMs`. `letGo` is called when
   * another one waits; absent: this turn is not to be cut short.
   */
  take(
    id: string,
    options?: { letGo?: () => void; signal?: AbortSignal; waitMs?: number },
  ): Promise<(() => void) | undefined>;
  has(id: string): boolean;
  close(): void;
}

/** A hint that somebody writes an upload now: its uid and the process, which is not to hear itself. */
const TURN = "stream.upload.turn";

interface Turn {
  ended: Promise<void>;
  letGo: (() => void) | undefined;
}

export function createTurns({ events, process }: { events: Events; process: string }): Turns {
  const turns = new Map<string, Turn>();
  const unsubscribe = events.subscribe(TURN, (hint) => {
    const [id = "", by] = hint.split(":");
    if (by !== process) turns.get(id)?.letGo?.();
  });

  return {
    close: unsubscribe,
    has: (id) => turns.has(id),
    async take(id, { letGo, signal, waitMs = 5000 } = {}) {
      const { promise: late, resolve } = Promise.withResolvers<"late">();
      const timer = setTimeout(resolve, waitMs, "late").unref();
      const abort = () => resolve("late");
      signal?.addEventListener("abort", abort, { once: true });
      try {
        for (let before = turns.get(id); before !== undefined; before = turns.get(id)) {
          if (signal?.aborted === true) return undefined;
          before.letGo?.();
          if ((await Promise.race([before.ended, late])) === "late") return undefined;
        }
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      }
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const turn: Turn = { ended, letGo };
      turns.set(id, turn);
      events.publish(TURN, `${id}:${process}`);
      return () => {
        if (turns.get(id) === turn) turns.delete(id);
        end();
      };
    },
  };
}
