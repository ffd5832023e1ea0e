import type { Clock, Log } from "../../../kernel/index.ts";
import type { ClaimsTable } from "./claims-table.ts";

/** A claim held by this process. */
export interface ActiveLease {
  readonly token: string;
  readonly now: number;
  until: number;
  /** Aborted when the claim is lost or the runner stops: another process may be delivering by then. */
  readonly controller: AbortController;
  lost: boolean;
}

interface Leases {
  readonly active: ReadonlySet<ActiveLease>;
  acquire(token: string): ActiveLease;
  release(held: ActiveLease): void;
}

/** Renews held leases after a third of their duration, until `stopSignal` is aborted. */
export function createLeases({
  table,
  clock,
  log,
  leaseMs,
  stopSignal,
}: {
  table: ClaimsTable;
  clock: Clock;
  log: Log;
  leaseMs: number;
  stopSignal: AbortSignal;
}): Leases {
  const active = new Set<ActiveLease>();
  let isRenewing = false;

  function markLost(activeLease: ActiveLease) {
    activeLease.lost = true;
    activeLease.controller.abort(new Error("the lease was lost"));
    log.warn({ token: activeLease.token }, "outbound: lease expired; another process may deliver its messages");
  }

  async function renew() {
    // The previous renewal is still in progress.
    if (isRenewing) return;
    // A new claim may not have been stored yet, so only earlier claims can be recognized as lost.
    const liveLeases = [...active].filter(({ lost }) => !lost);
    if (liveLeases.length === 0) return;
    const until = clock.now() + leaseMs;
    isRenewing = true;
    try {
      const renewedTokens = await table.renew(
        liveLeases.map(({ token }) => token),
        until,
      );
      for (const activeLease of liveLeases) if (renewedTokens.has(activeLease.token)) activeLease.until = until;
    } catch (err) {
      log.warn({ err }, "outbound: failed to renew leases, will retry");
    } finally {
      isRenewing = false;
    }
  }

  async function renewPeriodically() {
    while (!stopSignal.aborted) {
      await clock.sleep(leaseMs / 3, stopSignal).catch(() => {});
      // Leases also expire while the database does not respond.
      for (const activeLease of active) if (!activeLease.lost && clock.now() > activeLease.until) markLost(activeLease);
      if (!stopSignal.aborted) void renew();
    }
  }

  void renewPeriodically();
  return {
    active,
    acquire(token) {
      const now = clock.now();
      const activeLease: ActiveLease = {
        token,
        now,
        until: now + leaseMs,
        controller: new AbortController(),
        lost: false,
      };
      active.add(activeLease);
      return activeLease;
    },
    release: (activeLease) => void active.delete(activeLease),
  };
}
