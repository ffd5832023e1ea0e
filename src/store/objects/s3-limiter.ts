/** Limits the number of concurrent requests, and halves it when the server asks for fewer. */
interface RequestLimiter {
  /** Resolves when a request may start. */
  acquire(): Promise<void>;
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
  const waiting: (() => void)[] = [];

  function startWaiting(): void {
    while (running < limit && waiting.length > 0) {
      running++;
      waiting.shift()!();
    }
  }

  return {
    get limit() {
      return limit;
    },
    async acquire() {
      if (running < limit && waiting.length === 0) {
        running++;
        return;
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
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
