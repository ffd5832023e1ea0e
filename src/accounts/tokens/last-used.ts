import type { Clock, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { setLastUsed } from "./tokens-table.ts";
import type { AccountTables } from "../tables.ts";

/** Keeps `last_used_on` approximately up to date without one write per request. */
export interface LastUsed {
  /** `before`: the time stored so far. */
  record(token: string, before: number | null): void;
  /** Writes the buffered times. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum age of the stored time while the token is being used. */
const STEP_MS = 60_000;
/** Buffering time, so that updates of many tokens share a transaction. */
const BATCH_DELAY_MS = 1000;
const MAX_PENDING = 2000;

export function createLastUsed({ db, clock, log }: { db: Db; clock: Clock; log: Log }): LastUsed {
  let pendingUses = new Map<string, number>();
  let writing = Promise.resolve();
  const closing = new AbortController();
  let isFlushScheduled = false;

  function flush(): Promise<void> {
    const batch = pendingUses;
    pendingUses = new Map();
    if (batch.size > 0) {
      writing = writing
        .then(() => db.transaction<AccountTables, void>((tx) => setLastUsed(tx, batch)))
        .catch((err: unknown) => log.warn({ err }, "accounts: failed to update the last-used time of API tokens"));
    }
    return writing;
  }

  async function flushLater() {
    isFlushScheduled = true;
    await clock.sleep(BATCH_DELAY_MS, closing.signal).then(flush, () => {});
    isFlushScheduled = false;
    if (pendingUses.size > 0 && !closing.signal.aborted) void flushLater();
  }

  return {
    record(token, before) {
      const now = clock.now();
      if (
        (before !== null && now - before < STEP_MS) ||
        pendingUses.has(token) ||
        pendingUses.size >= MAX_PENDING ||
        closing.signal.aborted
      )
        return;
      pendingUses.set(token, now);
      if (!isFlushScheduled) void flushLater();
    },
    flush,
    async close() {
      closing.abort();
      await flush();
    },
  };
}
