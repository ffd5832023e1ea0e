/** Runs `work` on request, one run at a time; all requests made during a run share the next one. */
interface Coalesced {
  /**
   * Resolves when a run that started after this call has finished. `work` must report its own failures and must not
   * reject.
   */
  request(): Promise<void>;
  /** Starts no further runs; resolves when the current one has finished. */
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
