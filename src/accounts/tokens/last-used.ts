import type { Clock, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";

/** Keeps the last uses of tokens or sessions approximately up to date without one write per request. */
export interface LastUseTracker<Use> {
  /** `before`: the time stored so far. */
  record(id: string, before: number | null, use: Use): void;
  /** Writes the buffered times. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum age of the stored time while the token is being used. */
const STEP_MS = 60_000;
/** Buffering time, so that updates of many tokens share a transaction. */
const BATCH_DELAY_MS = 1000;
const MAX_PENDING = 2000;

interface LastUsedDeps<Use> {
  db: Db;
  clock: Clock;
  log: Log;
  /** "API tokens" */
  what: string;
  write(tx: AccountsExecutor, uses: ReadonlyMap<string, Use>): Promise<void>;
}

export function createLastUseTracker<Use>({ db, clock, log, what, write }: LastUsedDeps<Use>): LastUseTracker<Use> {
  let pendingUses = new Map<string, Use>();
  let writing = Promise.resolve();
  const closing = new AbortController();
  let isFlushScheduled = false;

  function flush(): Promise<void> {
    const batch = pendingUses;
    pendingUses = new Map();
    if (batch.size > 0) {
      writing = writing
        .then(() => db.transaction<AccountTables, void>((tx) => write(tx, batch)))
        .catch((err: unknown) => log.warn({ err }, `accounts: failed to update the last-used time of ${what}`));
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
    record(id, before, use) {
      const now = clock.now();
      if (
        (before !== null && now - before < STEP_MS) ||
        pendingUses.has(id) ||
        pendingUses.size >= MAX_PENDING ||
        closing.signal.aborted
      )
        return;
      pendingUses.set(id, use);
      if (!isFlushScheduled) void flushLater();
    },
    flush,
    async close() {
      closing.abort();
      await flush();
    },
  };
}
