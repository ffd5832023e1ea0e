import { createHash } from "node:crypto";
import type { Clock } from "../../../kernel/index.ts";
import type { RateLimitBinding } from "../../scripts/script.ts";

interface RateLimitCounters {
  /** Counts a call. Returns false if the key has reached its limit in the current period. */
  count(call: { account: string; namespace: string; key: string; simple: RateLimitBinding["simple"] }): boolean;
}

/** Maximum number of keys per account per period. A further key evicts the oldest one. */
const MAX_KEYS = 50_000;
/** Longer keys are stored as hashes. */
const KEY_LENGTH = 64;

/**
 * Counts calls in memory, in periods aligned to the clock. Bindings of an account with the same namespace id share
 * their counts, even across workers.
 */
export function createRateLimitCounters(clock: Clock, { mostKeys = MAX_KEYS } = {}): RateLimitCounters {
  /**
   * Maps the length of a period in seconds to the current period: its number since the epoch, and the counts of each
   * account.
   */
  const periods = new Map<number, { number: number; accounts: Map<string, Map<string, number>> }>();

  function countsOf(account: string, seconds: number): Map<string, number> {
    const number = Math.floor(clock.now() / (seconds * 1000));
    let period = periods.get(seconds);
    if (period?.number !== number) periods.set(seconds, (period = { number, accounts: new Map() }));
    let counts = period.accounts.get(account);
    if (counts === undefined) period.accounts.set(account, (counts = new Map()));
    return counts;
  }

  return {
    count({ account, namespace, key, simple: { limit, period } }) {
      const counts = countsOf(account, period);
      const name = `${namespace}/${key.length > KEY_LENGTH ? createHash("sha256").update(key).digest("base64") : key}`;
      const previousCount = counts.get(name);
      if ((previousCount ?? 0) >= limit) return false;
      if (previousCount === undefined && counts.size >= mostKeys) counts.delete(counts.keys().next().value!);
      counts.set(name, (previousCount ?? 0) + 1);
      return true;
    },
  };
}
