import type { Clock } from "./clock.ts";
import { createFailureWindows, type FailureWindows } from "./failure-windows.ts";
import { createQuota, type Quota } from "./quota.ts";

/** Rate limits that hold for the platform: across all processes that share its database. */
export interface RateLimits {
  /** True if the counts are shared with other processes. */
  readonly isShared: boolean;
  /** `name` identifies the limit. Parameters as in `createQuota`. */
  quota(name: string, options: { limit: number; perMs: number }): Quota;
  /** `name` identifies the limit. Parameters as in `createFailureWindows`. */
  failures(name: string, options: { failures: number; seconds: number }): FailureWindows;
}

/** The limits of a process that uses its database alone: counts in memory. */
export const createLocalLimits = (clock: Pick<Clock, "now">): RateLimits => ({
  isShared: false,
  quota: (_, options) => createQuota({ ...options, clock }),
  failures: (_, options) => createFailureWindows(options, clock),
});
