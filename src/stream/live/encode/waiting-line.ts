/** Runs tasks in order, even if a task has to wait. */
interface TaskQueue {
  /**
   * Runs the task immediately, or after the current hold. `bytes`: the memory it uses; the task is dropped if too much
   * is queued.
   */
  push(runTask: () => void, bytes?: number): void;
  /** Later tasks wait for `completion`, which must not reject. */
  waitFor(completion: Promise<void>): void;
  isWaiting(): boolean;
}

const MAX_QUEUED_BYTES = 32 * 1024 * 1024;

export function createTaskQueue(maxBytes = MAX_QUEUED_BYTES): TaskQueue {
  let waiting: { what: () => void; bytes: number }[] = [];
  let size = 0;
  let isHolding = false;

  function push(runTask: () => void, bytes = 0) {
    if (!isHolding) return runTask();
    if (bytes > 0 && size + bytes > maxBytes) return;
    waiting.push({ what: runTask, bytes });
    size += bytes;
  }

  return {
    push,
    isWaiting: () => isHolding,
    waitFor(completion) {
      isHolding = true;
      void completion.then(() => {
        isHolding = false;
        const rest = waiting;
        waiting = [];
        size = 0;
        // A task may hold the queue again: the tasks behind it then wait again.
        for (const { what: runTask, bytes } of rest) push(runTask, bytes);
      });
    },
  };
}
