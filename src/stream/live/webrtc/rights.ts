import { every } from "../../../kernel/every.ts";
import { type Log, UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";

/** Viewers' rights to go on watching. HLS shows its rights with every segment; who holds a connection is asked for nothing any more. */
export interface Rights {
  /** `check` rejects with what a viewer who comes now would be told; `end` is called then, once. Returns what forgets them. */
  watch(check: () => Promise<unknown>, end: () => void): () => void;
  /** Checks all viewers now, after access rules changed. */
  checkAll(): void;
  close(): void;
}

/** Asks for everybody every `everyMs` milliseconds, one after the other. Whoever cannot be asked about stays. */
export function createRights({ everyMs = 15_000, log }: { everyMs?: number; log: Log }): Rights {
  const watching = new Map<() => Promise<unknown>, () => void>();
  /** Rules changed during a check: all viewers are checked again. */
  let repeat = false;

  async function mayStay(check: () => Promise<unknown>): Promise<boolean> {
    try {
      await check();
      return true;
    } catch (err) {
      if (!(err instanceof UserError)) {
        log.warn({ err }, "whether a viewer may go on could not be asked; it is tried again");
        return true;
      }
      // Its publisher is expected back.
      return err.kind === NOT_PUBLISHED;
    }
  }

  async function checkEach(): Promise<void> {
    do {
      repeat = false;
      for (const [check, end] of watching) if (!(await mayStay(check)) && watching.delete(check)) end();
    } while (repeat);
  }

  const checks = every(everyMs, checkEach, { name: "webrtc: check of viewers' rights", log });
  return {
    watch(check, end) {
      watching.set(check, end);
      return () => void watching.delete(check);
    },
    checkAll() {
      repeat = true;
      void checks.run();
    },
    close() {
      watching.clear();
      void checks.stop();
    },
  };
}

const NOT_PUBLISHED = streamErrors.liveNotPublished().kind;
