/** Runs `work` for every request, one run at a time; requests that come during a run are answered by one more run after it. */
export interface Coalesced {
  /** Resolves when a run that began after this call has ended. `work` reports its own failures and does not reject. */
  request(): Promise<void>;
  /** No run begins any more; resolves when the one under way has ended. */
  close(): Promise<void>;
}

export function coalesce(work: () => Promise<void>): Coalesced {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let closed = false;

  function start(): Promise<void> {
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    request() {
      if (closed) return Promise.resolve();
      if (next !== undefined) return next;
      if (running === undefined) return start();
      next = running.then(() => {
        next = undefined;
        return closed ? undefined : start();
      });
      return next;
    },
    async close() {
      closed = true;
      await running;
    },
  };
}
