import { DEFAULT_REQUESTS_PER_WINDOW, RATE_WINDOW_SECONDS } from "../kernel/failure-windows.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
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

/**
 * Counts requests per token in fixed windows. Throws tooManyRequests with the remaining seconds in `retryAfter`, or
 * returns a promise that rejects with it.
 */
export function createRateLimiter(
  { requests, seconds }: RateLimit,
  limits: Pick<RateLimits, "quota">,
): (token: string) => void | Promise<void> {
  const quota = limits.quota("api.requests", { limit: requests, perMs: seconds * 1000 });
  const refuse = (retryAfter: number) => {
    if (retryAfter > 0) throw apiErrors.tooManyRequests({ limit: requests, seconds, retryAfter });
  };
  return (token) => {
    const wait = quota.consume(token);
    return typeof wait === "number" ? refuse(wait) : wait.then(refuse);
  };
}

interface FailureLimiter {
  /**
   * Throws tooManyFailures, or returns a promise that rejects with it, if the network has too many failures and the
   * token is not cached as valid.
   */
  check(ip: string | undefined, isKnown: () => boolean): void | Promise<void>;
  /** Counts a failed attempt. */
  failed(ip: string | undefined): void | Promise<void>;
}

/**
 * Counts failed authentication attempts per network in fixed windows, because each attempt costs two database reads.
 */
export function createFailureLimiter(
  { requests, seconds }: RateLimit,
  limits: Pick<RateLimits, "failures">,
): FailureLimiter {
  const windows = limits.failures("api.failures", { failures: requests, seconds });
  const refuse = (retryAfter: number | undefined) => {
    if (retryAfter !== undefined) throw apiErrors.tooManyFailures({ limit: requests, seconds, retryAfter });
  };
  return {
    check(ip, isKnown) {
      const wait = windows.secondsLeft(ip, isKnown);
      return wait instanceof Promise ? wait.then(refuse) : refuse(wait);
    },
    failed: windows.failed,
  };
}
