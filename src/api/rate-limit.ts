import type { Clock } from "../kernel/index.ts";
import { createFailureWindows, DEFAULT_REQUESTS_PER_WINDOW, RATE_WINDOW_SECONDS } from "../kernel/failure-windows.ts";
import { apiErrors } from "./errors.ts";

export interface RateLimit {
  /** Requests per token per window; 0 disables the limit. */
  requests: number;
  /** Window length in seconds. */
  seconds: number;
}

export const DEFAULT_RATE_LIMIT: RateLimit = {
  requests: DEFAULT_REQUESTS_PER_WINDOW,
  seconds: RATE_WINDOW_SECONDS,
};

/** Maximum number of tracked tokens; a new token evicts the one with the oldest window. */
const MAX_TOKENS = 10_000;

/** Counts requests per token in fixed windows. Throws tooManyRequests with the remaining seconds in `retryAfter`. */
export function createRateLimiter({ requests, seconds }: RateLimit, clock: Clock): (token: string) => void {
  const windows = new Map<string, { ends: number; count: number }>();
  if (requests === 0) return () => {};
  return (token) => {
    const now = clock.now();
    const window = windows.get(token);
    if (window === undefined || window.ends <= now) {
      windows.delete(token);
      if (windows.size >= MAX_TOKENS) windows.delete(windows.keys().next().value!);
      windows.set(token, { ends: now + seconds * 1000, count: 1 });
    } else if (++window.count > requests) {
      throw apiErrors.tooManyRequests({ limit: requests, seconds, retryAfter: Math.ceil((window.ends - now) / 1000) });
    }
  };
}

interface FailureLimiter {
  /** Throws tooManyRequests for a network with too many failures, unless the token is cached as valid. */
  check(ip: string | undefined, isKnown: () => boolean): void;
  /** Counts a failed attempt. */
  failed(ip: string | undefined): void;
}

/**
 * Counts failed authentication attempts per network in fixed windows, because each attempt costs two database reads.
 */
export function createFailureLimiter({ requests, seconds }: RateLimit, clock: Clock): FailureLimiter {
  const windows = createFailureWindows({ failures: requests, seconds }, clock);
  return {
    check(ip, isKnown) {
      const retryAfter = windows.secondsLeft(ip);
      if (retryAfter === undefined || isKnown()) return;
      throw apiErrors.tooManyFailures({ limit: requests, seconds, retryAfter });
    },
    failed: windows.failed,
  };
}
