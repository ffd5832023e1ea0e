import type { SumPeriod } from "../../store/index.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOURLY_DAYS = 31;

/** Metrics are summed by hour, kept for 31 days, and by day, kept for `days`. */
export const audiencePeriods = (days: number): readonly SumPeriod[] => [
  { ms: HOUR_MS, keptMs: Math.min(days, HOURLY_DAYS) * DAY_MS },
  { ms: DAY_MS, keptMs: days * DAY_MS },
];
