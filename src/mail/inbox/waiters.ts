import { mailErrors } from "../errors.ts";

interface Waiters {
  /**
   * Resolves with true once `isTrue` resolves with true, with false after `timeoutMs` or an abort. `isTrue` is called
   * now and after each `wake` of the account. Throws tooManyInboxWaiters.
   */
  until(
    account: string,
    isTrue: () => Promise<boolean>,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<boolean>;
  isWaiting(account: string): boolean;
  wake(account: string): void;
  /** Ends all waits. */
  close(): void;
}

interface Waiter {
  account: string;
  isChanged: boolean;
  isEnded: boolean;
  resume(): void;
}

function endWait(waiter: Waiter): void {
  waiter.isEnded = true;
  waiter.resume();
}

/** Creates long polls for changes to an account, limited in number. */
export function createWaiters({ limit }: { limit: number }): Waiters {
  const waiters = new Set<Waiter>();
  let isClosed = false;

  return {
    async until(account, isTrue, { timeoutMs, signal }) {
      if (waiters.size >= limit) throw mailErrors.tooManyInboxWaiters({ limit });
      const waiter: Waiter = {
        account,
        isChanged: false,
        isEnded: isClosed || signal?.aborted === true,
        resume() {},
      };
      const end = () => endWait(waiter);
      waiters.add(waiter);
      const timer = setTimeout(end, timeoutMs);
      signal?.addEventListener("abort", end, { once: true });
      try {
        for (;;) {
          waiter.isChanged = false;
          if (await isTrue()) return true;
          while (!waiter.isChanged && !waiter.isEnded) await new Promise<void>((resolve) => (waiter.resume = resolve));
          if (waiter.isEnded) return false;
        }
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        waiters.delete(waiter);
      }
    },
    isWaiting: (account) => Array.from(waiters).some((waiter) => waiter.account === account),
    wake(account) {
      for (const waiter of waiters) {
        if (waiter.account !== account) continue;
        waiter.isChanged = true;
        waiter.resume();
      }
    },
    close() {
      isClosed = true;
      waiters.forEach(endWait);
    },
  };
}
