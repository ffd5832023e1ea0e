import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../kernel/index.ts";

interface PollOptions<Seen> {
  until: (seen: Seen) => boolean;
  /** Fingerprint of the progress. If it stays the same for `stallTimeoutMs`, polling fails. */
  changes: (seen: Seen) => string;
  onSeen?: (seen: Seen) => void;
  /** Creates the error to throw after `minutes` without progress. */
  createStalledError: (seen: Seen, minutes: number) => Error;
  stallTimeoutMs?: number;
}

const [FIRST_MS, MAX_MS] = [150, 2000];
const MAX_SILENCE_MS = 30 * 60_000;
/** Maximum number of consecutive failures: the work survives a restart of the server. */
const MAX_MISSED = 10;

/**
 * Polls with a growing interval. Throws the error of `createStalledError`, and errors of `readState` other than a
 * temporarily lost connection.
 */
export async function poll<Seen>(
  readState: () => Promise<Seen>,
  { until, changes, onSeen = () => {}, createStalledError, stallTimeoutMs = MAX_SILENCE_MS }: PollOptions<Seen>,
): Promise<Seen> {
  let [pause, missedCount, changedAt] = [FIRST_MS, 0, performance.now()];
  let last: { state: string } | undefined;
  for (;;) {
    const seen = await readState().then(
      (found) => ({ found }),
      (thrown: unknown) => {
        if (!(thrown instanceof UserError) || thrown.domain !== "connection" || ++missedCount > MAX_MISSED)
          throw thrown;
        return undefined;
      },
    );
    if (seen !== undefined) {
      missedCount = 0;
      onSeen(seen.found);
      if (until(seen.found)) return seen.found;
      const state = changes(seen.found);
      if (state !== last?.state) [last, changedAt] = [{ state }, performance.now()];
      else if (performance.now() - changedAt > stallTimeoutMs)
        throw createStalledError(seen.found, Math.round(stallTimeoutMs / 60_000));
    }
    await sleep(pause);
    pause = Math.min(MAX_MS, pause * 1.3);
  }
}
