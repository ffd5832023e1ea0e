import { every, type Every } from "../../kernel/periodic.ts";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Db } from "../db/port.ts";
import type { Sweeps } from "./port.ts";
import { createSweepsTable } from "./sweeps-table.ts";

interface SweepsDeps {
  db: Db;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Pick<Log, "warn">;
  /** Duration of the lease, for which a dead process blocks the others. Renewed after a third of this time. */
  leaseMs?: number;
}

/**
 * The fraction of the interval after which a completed run is due again. Less than 1, because the next tick of the same
 * process may be a few milliseconds early.
 */
const DUE_AFTER = 0.9;

/** Sweeps for a process that does not share its database. Every run takes place here, without leases. */
export const localSweeps: Sweeps = {
  every,
  run: async (_name, _intervalMs, work) => (await work()) ?? undefined,
};

/** Creates sweeps for processes that share a database. Each name has a row with a lease. */
export function createSharedSweeps({ db, clock, ids, log, leaseMs = 30_000 }: SweepsDeps): Sweeps {
  const table = createSweepsTable(db);

  async function run(name: string, intervalMs: number, work: () => Promise<number | void>) {
    const holder = ids.hex();
    const startedAt = clock.now();
    if (!(await table.claim(name, holder, startedAt, startedAt + leaseMs))) return table.result(name);
    const ended = new AbortController();
    const renewal = renewUntil(ended.signal, name, holder);
    let next = clock.now();
    let result: number | undefined;
    try {
      result = (await work()) ?? undefined;
      next = startedAt + intervalMs * DUE_AFTER;
      return result;
    } finally {
      ended.abort();
      await renewal;
      // If this fails, the lease expires on its own.
      await table
        .complete(name, holder, next, result ?? null)
        .catch((err: unknown) => log.warn({ err }, `${name}: failed to record the completed run`));
    }
  }

  async function renewUntil(end: AbortSignal, name: string, holder: string) {
    while (!end.aborted) {
      await clock.sleep(leaseMs / 3, end).catch(() => {});
      if (end.aborted) return;
      await table
        .renew(name, holder, clock.now() + leaseMs)
        .catch((err: unknown) => log.warn({ err }, `${name}: failed to renew the lease, will retry`));
    }
  }

  return {
    every: (...[ms, work, options]: Parameters<Every>) =>
      every(ms, () => run(options.name, ms, async () => void (await work())), options),
    run,
  };
}
