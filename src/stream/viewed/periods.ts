export const PERIODS = ["hour", "day", "week", "month", "quarter", "year"] as const;
export type Period = (typeof PERIODS)[number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const MONDAY = 4 * DAY;

/** Start (UTC) of the period that contains the given time, in epoch milliseconds. */
export function startOfPeriod(at: number, period: Period): number {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  switch (period) {
    case "hour":
      return Math.floor(at / HOUR) * HOUR;
    case "day":
      return Math.floor(at / DAY) * DAY;
    case "week":
      return Math.floor((at - MONDAY) / (7 * DAY)) * 7 * DAY + MONDAY;
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
      return begin + HOUR;
    case "day":
      return begin + DAY;
    case "week":
      return begin + 7 * DAY;
    case "month":
      return Date.UTC(year, month + 1);
    case "quarter":
      return Date.UTC(year, month + 3);
    case "year":
      return Date.UTC(year + 1, 0);
  }
}
