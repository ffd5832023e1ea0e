import type { Clock } from "./clock.ts";
import { createFailureWindows, type FailureWindows } from "./failure-windows.ts";
import { createQuota, type Quota } from "./quota.ts";

/** Rate limits for the whole platform: they apply across all processes that share its database. */
export interface RateLimits {
  /** True if the counts are shared with other processes. */
  readonly isShared: boolean;
  /** `name` identifies the limit. Parameters as in `createQuota`. */
  quota(name: string, options: { limit: number; perMs: number }): Quota;
  /** `name` identifies the limit. Parameters as in `createFailureWindows`. */
  failures(name: string, options: { failures: number; seconds: number }): FailureWindows;
}

/** Creates the limits of a process that shares its database with no other: counts are in memory. */
export const createLocalLimits = (clock: Pick<Clock, "now">): RateLimits => ({
  isShared: false,
  quota: (_, options) => createQuota({ ...options, clock }),
  failures: (_, options) => createFailureWindows(options, clock),
});
