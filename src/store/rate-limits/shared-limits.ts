import { createHash } from "node:crypto";
import { createFailureWindows } from "../../kernel/failure-windows.ts";
import type { Clock, Log } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";
import { createQuota } from "../../kernel/quota.ts";
import type { RateLimits } from "../../kernel/rate-limits.ts";
import type { Db } from "../db/port.ts";
import { createCountsTable } from "./counts-table.ts";

interface SharedLimitsDeps {
  db: Db;
  clock: Clock;
  log: Pick<Log, "warn">;
  /**
   * Returns the number of live processes that share the database. Values below MIN_PROCESSES count as MIN_PROCESSES.
   */
  processes(): number;
}

interface SharedLimits extends RateLimits {
  /** Deletes the counts of periods that have ended. Call it periodically. */
  sweep(): Promise<void>;
}

/** The reservation of this process for a key, valid until `until`. */
interface Share {
  until: number;
  /** Events that are reserved for this process. */
  left: number;
  /** True if no events are left to reserve. */
  isExhausted: boolean;
}

/** Maximum number of keys in memory for each limit. The key whose period began first is evicted. */
const MAX_KEYS = 10_000;
/**
 * The fraction of a limit that all processes together may reserve without using it. The platform admits at most the
 * limit, and at least the limit minus this fraction.
 */
const RESERVED_FRACTION = 0.1;
const MIN_PROCESSES = 4;

/**
 * Limits of processes that share a database. Each process reserves a few events at a time in a database row per key, so
 * that most events need no query, and the processes together never exceed the limit. If the database does not respond,
 * each process applies the limits on its own.
 */
export function createSharedLimits({ db, clock, log, processes }: SharedLimitsDeps): SharedLimits {
  const table = createCountsTable(db);
  // The keys contain addresses, and their length is not limited.
  const rowKey = (name: string, key: string) => `${name} ${createHash("sha256").update(key).digest("base64url")}`;
  const warn = (err: unknown) => log.warn({ err }, "limits: failed to share counts, counting in this process only");

  return {
    isShared: true,
    sweep: () => table.forget(clock.now()),

    quota(name, { limit, perMs }) {
      const shares = new Map<string, Share>();
      const reservations = new Map<string, Promise<void>>();
      const fallback = createQuota({ clock, limit, perMs });

      async function reserve(key: string): Promise<void> {
        const now = clock.now();
        const wanted = Math.max(1, Math.floor((limit * RESERVED_FRACTION) / Math.max(MIN_PROCESSES, processes())));
        const { count, until } = await table.add(rowKey(name, key), wanted, now, now + perMs);
        const granted = Math.min(wanted, Math.max(0, limit - (count - wanted)));
        shares.delete(key);
        if (shares.size >= MAX_KEYS) shares.delete(shares.keys().next().value!);
        shares.set(key, { until, left: granted, isExhausted: granted < wanted });
      }

      /** Returns the seconds to wait; undefined if this process has no reservation. */
      function consumeReserved(key: string): number | undefined {
        const share = shares.get(key);
        const now = clock.now();
        if (share === undefined || share.until <= now) return undefined;
        if (share.left > 0) {
          share.left--;
          return 0;
        }
        return share.isExhausted ? Math.ceil((share.until - now) / 1000) : undefined;
      }

      async function consumeAfterReservation(key: string): Promise<number> {
        try {
          for (;;) {
            let reservation = reservations.get(key);
            if (reservation === undefined) {
              reservation = reserve(key).finally(() => reservations.delete(key));
              reservations.set(key, reservation);
            }
            await reservation;
            const wait = consumeReserved(key);
            if (wait !== undefined) return wait;
          }
        } catch (err) {
          warn(err);
          return fallback.consume(key);
        }
      }

      return { consume: (key) => (limit === 0 ? 0 : (consumeReserved(key) ?? consumeAfterReservation(key))) };
    },

    failures(name, { failures, seconds }) {
      const own = createFailureWindows({ failures, seconds }, clock);
      /** Networks that have reached the limit, with the end of their period. */
      const blocked = new Map<string, number>();

      function learn(network: string, { count, until }: { count: number; until: number }) {
        if (count < failures) return;
        blocked.delete(network);
        if (blocked.size >= MAX_KEYS) blocked.delete(blocked.keys().next().value!);
        blocked.set(network, until);
      }

      function blockedFor(network: string): number | undefined {
        const leftMs = (blocked.get(network) ?? 0) - clock.now();
        return leftMs > 0 ? Math.ceil(leftMs / 1000) : undefined;
      }

      return {
        secondsLeft(ip, isExempt = () => false) {
          if (failures === 0 || isExempt()) return undefined;
          const network = networkOf(ip ?? "");
          const known = blockedFor(network);
          if (known !== undefined) return known;
          return table.find(rowKey(name, network), clock.now()).then(
            (count) => {
              if (count !== undefined) learn(network, count);
              return blockedFor(network);
            },
            (err: unknown) => {
              warn(err);
              return own.secondsLeft(ip);
            },
          );
        },
        async failed(ip) {
          if (failures === 0) return;
          own.failed(ip);
          const network = networkOf(ip ?? "");
          const now = clock.now();
          await table
            .add(rowKey(name, network), 1, now, now + seconds * 1000)
            .then((count) => learn(network, count), warn);
        },
      };
    },
  };
}
