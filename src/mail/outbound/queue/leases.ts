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
  let renewing = false;

  function lose(one: ActiveLease) {
    one.lost = true;
    one.controller.abort(new Error("the lease was lost"));
    log.warn({ token: one.token }, "outbound: lease expired; another process may deliver its messages");
  }

  async function renew() {
    // The previous renewal is still in progress.
    if (renewing) return;
    // A new claim may not have been stored yet, so only earlier claims can be recognized as lost.
    const mine = [...active].filter(({ lost }) => !lost);
    if (mine.length === 0) return;
    const until = clock.now() + leaseMs;
    renewing = true;
    try {
      const standing = await table.renew(
        mine.map(({ token }) => token),
        until,
      );
      for (const one of mine) if (standing.has(one.token)) one.until = until;
    } catch (err) {
      log.warn({ err }, "outbound: failed to renew leases, will retry");
    } finally {
      renewing = false;
    }
  }

  async function beat() {
    while (!stopSignal.aborted) {
      await clock.sleep(leaseMs / 3, stopSignal).catch(() => {});
      // Leases also expire while the database does not respond.
      for (const one of active) if (!one.lost && clock.now() > one.until) lose(one);
      if (!stopSignal.aborted) void renew();
    }
  }

  void beat();
  return {
    active,
    acquire(token) {
      const now = clock.now();
      const one: ActiveLease = { token, now, until: now + leaseMs, controller: new AbortController(), lost: false };
      active.add(one);
      return one;
    },
    release: (one) => void active.delete(one),
  };
}
