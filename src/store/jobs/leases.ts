import type { Clock, Log } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import type { Held, JobsTable } from "./jobs-table.ts";

/** One job this worker holds, for as long as its lease stands. */
export interface Lease extends Held {
  until: number;
  /** Someone else may run the job by now: nothing of ours counts any more. */
  lost: boolean;
  controller: AbortController;
}

export interface Leases {
  lose(lease: Lease): void;
}

/** Renews what is in `held` at a third of its time, until `over`. A lease that runs out, or turns out to be another's, aborts its job. */
export function keepLeases(
  parts: { table: JobsTable; clock: Clock; log: Log },
  held: ReadonlySet<Lease>,
  leaseMs: number,
  over: AbortSignal,
): Leases {
  const { table, clock, log } = parts;
  let renewing = false;
  /** A beat that came while the answer to the one before was still out. */
  let missed = false;

  function lose(lease: Lease) {
    lease.lost = true;
    lease.controller.abort(storeErrors.leaseLost({ id: lease.id }));
  }

  async function renew() {
    if (renewing) {
      missed = true;
      return;
    }
    const mine = [...held].filter(({ lost }) => !lost);
    if (mine.length === 0) return;
    renewing = true;
    const until = clock.now() + leaseMs;
    try {
      const standing = await table.renew(mine, until);
      for (const lease of mine) {
        if (standing.has(lease.id)) lease.until = until;
        else if (held.has(lease)) lose(lease);
      }
    } catch (err) {
      log.warn({ err }, "jobs: leases could not be renewed");
    } finally {
      renewing = false;
    }
    if (missed && !over.aborted) {
      missed = false;
      void renew();
    }
  }

  async function beat() {
    while (!over.aborted) {
      await clock.sleep(leaseMs / 3, over).catch(() => {});
      // A database that does not answer does not stop the time.
      for (const lease of held) if (!lease.lost && clock.now() > lease.until) lose(lease);
      if (!over.aborted) void renew();
    }
  }

  void beat();
  return { lose };
}
