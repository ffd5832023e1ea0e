import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../kernel/index.ts";

export interface PollOptions<Seen> {
  until: (seen: Seen) => boolean;
  /** What tells that something goes on: while it stays the same, patience runs out. */
  changes: (seen: Seen) => string;
  onSeen?: (seen: Seen) => void;
  /** What is thrown when it has stayed the same for `minutes`. */
  stuck: (seen: Seen, minutes: number) => Error;
  patienceMs?: number;
}

const [FIRST_MS, MOST_MS] = [150, 2000];
const PATIENCE_MS = 30 * 60_000;
/** One after the other: a server that is started anew is not the end of what it does. */
const MAX_MISSED = 10;

/** Looks again and again, at first often. Throws what `stuck` makes, and what `look` throws but for a connection that is lost for a while. */
export async function poll<Seen>(
  look: () => Promise<Seen>,
  { until, changes, onSeen = () => {}, stuck, patienceMs = PATIENCE_MS }: PollOptions<Seen>,
): Promise<Seen> {
  let [pause, missed, since] = [FIRST_MS, 0, performance.now()];
  let last: { state: string } | undefined;
  for (;;) {
    const seen = await look().then(
      (found) => ({ found }),
      (thrown: unknown) => {
        if (!(thrown instanceof UserError) || thrown.domain !== "connection" || ++missed > MAX_MISSED) throw thrown;
        return undefined;
      },
    );
    if (seen !== undefined) {
      missed = 0;
      onSeen(seen.found);
      if (until(seen.found)) return seen.found;
      const state = changes(seen.found);
      if (state !== last?.state) [last, since] = [{ state }, performance.now()];
      else if (performance.now() - since > patienceMs) throw stuck(seen.found, Math.round(patienceMs / 60_000));
    }
    await sleep(pause);
    pause = Math.min(MOST_MS, pause * 1.3);
  }
}
