/** Runs tasks in order, even if a task has to wait. */
interface TaskQueue {
  /**
   * Runs the task immediately, or after the current hold. `bytes`: the memory it uses; the task is dropped if too much
   * is queued.
   */
  push(what: () => void, bytes?: number): void;
  /** Later tasks wait for `until`, which must not reject. */
  waitFor(until: Promise<void>): void;
  isWaiting(): boolean;
}

const MAX_BYTES = 32 * 1024 * 1024;

export function createTaskQueue(mostBytes = MAX_BYTES): TaskQueue {
  let waiting: { what: () => void; bytes: number }[] = [];
  let size = 0;
  let holding = false;

  function push(what: () => void, bytes = 0) {
    if (!holding) return what();
    if (bytes > 0 && size + bytes > mostBytes) return;
    waiting.push({ what, bytes });
    size += bytes;
  }

  return {
    push,
    isWaiting: () => holding,
    waitFor(until) {
      holding = true;
      void until.then(() => {
        holding = false;
        const rest = waiting;
        waiting = [];
        size = 0;
        // A task may hold the queue again: the tasks behind it then wait again.
        for (const { what, bytes } of rest) push(what, bytes);
      });
    },
  };
}
