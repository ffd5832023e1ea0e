const DAY_MS = 86_400_000;

/** First and last day in UTC, such as "2026-11-20". */
export interface ReportPeriod {
  since: string;
  until: string;
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

export const periodOf = (days: number, now: number): ReportPeriod => ({
  since: dayOf(now - (days - 1) * DAY_MS),
  until: dayOf(now),
});

/**
 * Values per day for a chart, from rows that exist only for days with reports. `times`: seconds since 1970, one for
 * each day of the period.
 */
export function perDay<Row extends { day: string }>(
  { since, until }: ReportPeriod,
  rows: readonly Row[],
): { times: number[]; valuesOf: (read: (row: Row) => number) => number[] } {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const days: string[] = [];
  for (let at = Date.parse(since); at <= Date.parse(until); at += DAY_MS) days.push(dayOf(at));
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    valuesOf: (read) =>
      days.map((day) => {
        const row = byDay.get(day);
        return row === undefined ? 0 : read(row);
      }),
  };
}
