import { every } from "../../../kernel/periodic.ts";
import { type Log, UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";

/**
 * Re-authorizes connected viewers. HLS is authorized with every segment; a WebRTC connection is authorized only when it
 * opens.
 */
interface Reauthorization {
  /**
   * Calls `end` once, when `check` rejects in the same way as for a new viewer. Returns a function that stops the
   * checks.
   */
  watch(check: () => Promise<unknown>, end: () => void): () => void;
  /** Checks all viewers immediately, after access rules have changed. */
  checkAll(): void;
  close(): void;
}

/**
 * Checks all viewers every `everyMs` milliseconds, one after the other. A viewer whose check fails with an internal
 * error stays connected.
 */
export function createReauthorization({ everyMs = 15_000, log }: { everyMs?: number; log: Log }): Reauthorization {
  const closeByCheck = new Map<() => Promise<unknown>, () => void>();
  /** The rules changed during a check: all viewers are checked again. */
  let needsRepeat = false;

  async function isStillAuthorized(check: () => Promise<unknown>): Promise<boolean> {
    try {
      await check();
      return true;
    } catch (err) {
      if (!(err instanceof UserError)) {
        log.warn({ err }, "webrtc: failed to re-authorize a viewer, will retry");
        return true;
      }
      // The publisher may reconnect.
      return err.kind === NOT_PUBLISHED;
    }
  }

  async function checkEach(): Promise<void> {
    do {
      needsRepeat = false;
      for (const [check, end] of closeByCheck)
        if (!(await isStillAuthorized(check)) && closeByCheck.delete(check)) end();
    } while (needsRepeat);
  }

  const checks = every(everyMs, checkEach, { name: "webrtc: re-authorization of viewers", log });
  return {
    watch(check, end) {
      closeByCheck.set(check, end);
      return () => void closeByCheck.delete(check);
    },
    checkAll() {
      needsRepeat = true;
      void checks.run();
    },
    close() {
      closeByCheck.clear();
      void checks.stop();
    },
  };
}

const NOT_PUBLISHED = streamErrors.liveNotPublished().kind;
