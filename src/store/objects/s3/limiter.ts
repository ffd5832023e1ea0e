/** Limits the number of concurrent requests, and halves it when the server asks for fewer. */
interface RequestLimiter {
  /** Resolves when a request may start. Rejects after this time, so that an unreachable server stops all waiting. */
  acquire(timeoutMs: number): Promise<void>;
  release(): void;
  /** The server asked for fewer requests. */
  slowDown(): void;
  /** A request succeeded. */
  succeeded(): void;
  readonly limit: number;
}

/** Requests that started together are answered together: they count as one signal to slow down. */
const SLOW_DOWN_MS = 500;

export function createRequestLimiter(maximum: number, now: () => number = () => performance.now()): RequestLimiter {
  let limit = maximum;
  let running = 0;
  let successes = 0;
  let slowedAt = -Infinity;
  const waiting = new Set<() => void>();

  function startWaiting(): void {
    for (const start of waiting) {
      if (running >= limit) return;
      running++;
      start();
    }
  }

  return {
    get limit() {
      return limit;
    },
    async acquire(timeoutMs) {
      if (running < limit && waiting.size === 0) {
        running++;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(start);
          reject(new Error(`${limit} requests are in progress, and none ended in time`));
        }, timeoutMs).unref();
        const start = () => {
          clearTimeout(timer);
          waiting.delete(start);
          resolve();
        };
        waiting.add(start);
      });
    },
    release() {
      running--;
      startWaiting();
    },
    slowDown() {
      if (now() - slowedAt < SLOW_DOWN_MS) return;
      slowedAt = now();
      limit = Math.max(1, Math.floor(limit / 2));
      successes = 0;
    },
    succeeded() {
      if (limit === maximum || ++successes < limit) return;
      successes = 0;
      limit++;
      startWaiting();
    },
  };
}
