/**
 * Runs `work` one at a time. A call resolves when a run that started after the call has ended; calls that wait
 * meanwhile share the next run.
 */
export function createReload(work: () => Promise<void>): () => Promise<void> {
  let currentRun: Promise<void> = Promise.resolve();
  let pendingRun: Promise<void> | undefined;
  return () => {
    pendingRun ??= currentRun
      .catch(() => {})
      .then(() => {
        pendingRun = undefined;
        return (currentRun = work());
      });
    return pendingRun;
  };
}
