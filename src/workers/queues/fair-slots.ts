/**
 * Shares a fixed number of slots between accounts. An account may hold at most as many slots as are free, so one
 * account alone gets half of them, and the next account can still get some.
 */
export interface FairSlots {
  /** Number of free slots. */
  readonly free: number;
  /** Takes a slot. Returns false if none is free or the account already holds its share. */
  tryAcquire(account: string): boolean;
  /**
   * Waits for a slot. Waiting accounts get freed slots in turn, those with the fewest slots first. Resolves with false
   * if `signal` is aborted first.
   */
  acquire(account: string, signal: AbortSignal): Promise<boolean>;
  release(account: string): void;
  /** Returns the account to which the next slot belongs; undefined if no account may take one. */
  next(accounts: Iterable<string>): string | undefined;
}

/** Bounds the memory for accounts that have not taken a slot for a long time. */
const MAX_LAST_USES = 10_000;

export function createFairSlots(total: number): FairSlots {
  const held = new Map<string, number>();
  /** When each account last took a slot, as a counter value; the account with the lowest value comes first. */
  const lastUses = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();
  let used = 0;
  let useCount = 0;

  const heldBy = (account: string) => held.get(account) ?? 0;
  const lastUseOf = (account: string) => lastUses.get(account) ?? 0;

  function next(accounts: Iterable<string>): string | undefined {
    let found: string | undefined;
    for (const account of accounts) {
      if (heldBy(account) >= total - used) continue;
      if (found === undefined || (heldBy(account) - heldBy(found) || lastUseOf(account) - lastUseOf(found)) < 0)
        found = account;
    }
    return found;
  }

  function tryAcquire(account: string): boolean {
    if (heldBy(account) >= total - used) return false;
    used++;
    held.set(account, heldBy(account) + 1);
    // A Map keeps insertion order, so the first entry is the oldest.
    lastUses.delete(account);
    if (lastUses.size >= MAX_LAST_USES) lastUses.delete(lastUses.keys().next().value!);
    lastUses.set(account, ++useCount);
    return true;
  }

  function grant() {
    for (let account; (account = next(waiting.keys())) !== undefined;) {
      const [first] = waiting.get(account)!;
      tryAcquire(account);
      first!();
    }
  }

  return {
    get free() {
      return total - used;
    },
    tryAcquire: (account) => !waiting.has(account) && tryAcquire(account),
    acquire(account, signal) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const requests = waiting.get(account) ?? new Set();
      const remove = () => {
        requests.delete(granted);
        if (requests.size === 0) waiting.delete(account);
        signal.removeEventListener("abort", aborted);
      };
      const granted = () => {
        remove();
        resolve(true);
      };
      const aborted = () => {
        remove();
        resolve(false);
      };
      if (signal.aborted) return Promise.resolve(false);
      signal.addEventListener("abort", aborted);
      waiting.set(account, requests.add(granted));
      grant();
      return promise;
    },
    release(account) {
      const left = heldBy(account) - 1;
      if (left === 0) held.delete(account);
      else held.set(account, left);
      used--;
      grant();
    },
    next,
  };
}
