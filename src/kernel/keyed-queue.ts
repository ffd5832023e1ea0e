interface KeyedQueueOptions {
  /** Number of tasks of one key that may run concurrently. Default 1. */
  concurrency?: number;
  /** Number of tasks of one key that may wait. Default: unbounded. */
  maxWaiting?: number;
  /** Returns the error for a task that exceeds `maxWaiting`. */
  full?: (waiting: number, key: string) => Error;
}

/**
 * Runs tasks of one key in order of arrival, at most `concurrency` at a time. Tasks of different keys are independent.
 * Returns what the task returns. Rejects with `full(waiting, key)` when `maxWaiting` tasks of the key already wait.
 */
export type KeyedQueue = <Result>(key: string, task: () => Promise<Result>) => Promise<Result>;

interface KeyQueue {
  running: number;
  waiting: (() => void)[];
}

export function createKeyedQueue({ concurrency = 1, maxWaiting = Infinity, full }: KeyedQueueOptions = {}): KeyedQueue {
  const queuesByKey = new Map<string, KeyQueue>();
  return async (key, task) => {
    const keyQueue = queuesByKey.get(key) ?? { running: 0, waiting: [] };
    queuesByKey.set(key, keyQueue);
    if (keyQueue.running < concurrency) keyQueue.running++;
    else if (keyQueue.waiting.length >= maxWaiting)
      throw (
        full?.(keyQueue.waiting.length, key) ??
        new Error(`too many tasks are waiting for ${key}: ${keyQueue.waiting.length}`)
      );
    // A finished task passes its slot to the next one.
    else await new Promise<void>((resolve) => keyQueue.waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = keyQueue.waiting.shift();
      if (next !== undefined) next();
      else if (--keyQueue.running === 0) queuesByKey.delete(key);
    }
  };
}
