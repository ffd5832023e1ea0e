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
 * Renews the leases in `heldLeases` after a third of their duration, until `endSignal`. Aborts the job of an expired or
 * lost lease.
 */
export function startLeaseRenewal(
  leaseDeps: { table: JobsTable; clock: Clock; log: Log },
  heldLeases: ReadonlySet<Lease>,
  leaseMs: number,
  endSignal: AbortSignal,
): Leases {
  const { table, clock, log } = leaseDeps;
  let isRenewing = false;
  /** True if a heartbeat became due while the previous one was pending. */
  let hasMissed = false;

  function markLost(lease: Lease) {
    lease.lost = true;
    lease.controller.abort(storeErrors.leaseLost({ id: lease.id }));
  }

  async function renew() {
    if (isRenewing) {
      hasMissed = true;
      return;
    }
    const liveLeases = [...heldLeases].filter(({ lost }) => !lost);
    if (liveLeases.length === 0) return;
    isRenewing = true;
    const until = clock.now() + leaseMs;
    try {
      const renewedTokens = await table.renew(liveLeases, until);
      for (const lease of liveLeases) {
        if (renewedTokens.has(lease.id)) lease.until = until;
        else if (heldLeases.has(lease)) markLost(lease);
      }
    } catch (err) {
      log.warn({ err }, "jobs: failed to renew leases, will retry");
    } finally {
      isRenewing = false;
    }
    if (hasMissed && !endSignal.aborted) {
      hasMissed = false;
      void renew();
    }
  }

  async function renewPeriodically() {
    while (!endSignal.aborted) {
      await clock.sleep(leaseMs / 3, endSignal).catch(() => {});
      // Leases also expire while the database does not respond.
      for (const lease of heldLeases) if (!lease.lost && clock.now() > lease.until) markLost(lease);
      if (!endSignal.aborted) void renew();
    }
  }

  void renewPeriodically();
  return { markLost };
}
