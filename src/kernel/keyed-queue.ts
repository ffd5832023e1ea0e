interface KeyedQueueOptions {
  /** Number of tasks of one key that may run concurrently. Default 1. */
  concurrency?: number;
  /** Number of tasks of one key that may wait. Default: unbounded. */
  maxWaiting?: number;
  /** The error for a task that exceeds `maxWaiting`. */
  full?: (waiting: number, key: string) => Error;
}

/**
 * Runs tasks of one key in order of arrival, at most `concurrency` at a time. Tasks of different keys are independent.
 * Returns what the task returns. Rejects with `full(waiting, key)` when `maxWaiting` tasks of the key already wait.
 */
export type KeyedQueue = <Result>(key: string, task: () => Promise<Result>) => Promise<Result>;

interface Line {
  running: number;
  waiting: (() => void)[];
}

export function createKeyedQueue({ concurrency = 1, maxWaiting = Infinity, full }: KeyedQueueOptions = {}): KeyedQueue {
  const lines = new Map<string, Line>();
  return async (key, task) => {
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.running < concurrency) line.running++;
    else if (line.waiting.length >= maxWaiting)
      throw (
        full?.(line.waiting.length, key) ?? new Error(`too many tasks are waiting for ${key}: ${line.waiting.length}`)
      );
    // A finished task passes its slot to the next one.
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) lines.delete(key);
    }
  };
}
