/** Limits the number of concurrent requests. Halves the limit when the server sends 503 SlowDown. */
interface RequestLimiter {
  /**
   * Resolves when a request may start. Rejects after `timeoutMs`, so that requests do not pile up behind an unreachable
   * server.
   */
  acquire(timeoutMs: number): Promise<void>;
  release(): void;
  /** Call it when the server asks for fewer requests. */
  slowDown(): void;
  /** Call it when a request has succeeded. */
  succeeded(): void;
  readonly limit: number;
}

/**
 * Several requests that were sent at the same time may be rejected. Within this time, they halve the limit only once.
 */
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
          reject(new Error(`${limit} requests are in progress, and none completed in time`));
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
