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
  /** How long a run of a dead process keeps the others from running. Renewed after a third of this time. */
  leaseMs?: number;
}

/**
 * The fraction of the interval after which a completed run is due again. Less than 1, so that the next tick of the process
 * that ran last is not too early by a few milliseconds.
 */
const DUE_AFTER = 0.9;

/** The sweeps of a process that uses its database alone: all of them run here, without leases. */
export const localSweeps: Sweeps = {
  every,
  run: async (_name, _intervalMs, work) => (await work()) ?? undefined,
};

/** Sweeps of processes that share a database, with a lease in a row for each name. */
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
        .catch((err: unknown) => log.warn({ err }, `${name}: failed to store the end of a run`));
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
