/**
 * Runs `work` one at a time. A call resolves when a run that started after the call has ended; calls that wait
 * meanwhile share the next run.
 */
export function createReload(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return (running = work());
      });
    return next;
  };
}
