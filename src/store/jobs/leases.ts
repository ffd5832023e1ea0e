import type { Clock, Log } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import type { JobClaim, JobsTable } from "./jobs-table.ts";

/** A job of this worker while its lease is valid. */
export interface Lease extends JobClaim {
  until: number;
  /** Another worker may run the job: results of this worker no longer count. */
  lost: boolean;
  controller: AbortController;
}

interface Leases {
  markLost(lease: Lease): void;
}

/**
 * Renews the leases in `held` after a third of their duration, until `over`. Aborts the job of an expired or lost
 * lease.
 */
export function startLeaseRenewal(
  parts: { table: JobsTable; clock: Clock; log: Log },
  held: ReadonlySet<Lease>,
  leaseMs: number,
  over: AbortSignal,
): Leases {
  const { table, clock, log } = parts;
  let renewing = false;
  /** True if a heartbeat became due while the previous one was pending. */
  let missed = false;

  function markLost(lease: Lease) {
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
        else if (held.has(lease)) markLost(lease);
      }
    } catch (err) {
      log.warn({ err }, "jobs: failed to renew leases, will retry");
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
      // Leases also expire while the database does not respond.
      for (const lease of held) if (!lease.lost && clock.now() > lease.until) markLost(lease);
      if (!over.aborted) void renew();
    }
  }

  void beat();
  return { markLost };
}
