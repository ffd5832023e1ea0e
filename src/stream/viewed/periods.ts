export const PERIODS = ["hour", "day", "week", "month", "quarter", "year"] as const;
export type Period = (typeof PERIODS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Start (UTC) of the period that contains the given time, in epoch milliseconds. */
export function startOfPeriod(timeMs: number, period: Period): number {
  const date = new Date(timeMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  switch (period) {
    case "hour":
      return Math.floor(timeMs / HOUR_MS) * HOUR_MS;
    case "day":
      return Math.floor(timeMs / DAY_MS) * DAY_MS;
    case "week":
      return Math.floor((timeMs - FIRST_MONDAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS + FIRST_MONDAY_MS;
    case "month":
      return Date.UTC(year, month);
    case "quarter":
      return Date.UTC(year, month - (month % 3));
    case "year":
      return Date.UTC(year, 0);
  }
}

/** Start of the next period. */
export function nextPeriodStart(begin: number, period: Period): number {
  const date = new Date(begin);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  switch (period) {
    case "hour":
      return begin + HOUR_MS;
    case "day":
      return begin + DAY_MS;
    case "week":
      return begin + 7 * DAY_MS;
    case "month":
      return Date.UTC(year, month + 1);
    case "quarter":
      return Date.UTC(year, month + 3);
    case "year":
      return Date.UTC(year + 1, 0);
  }
}
