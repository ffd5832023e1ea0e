import { sql, type RawBuilder } from "kysely";
import type { Db } from "./port.ts";
import { filterCondition, type ColumnValue, type RowFilter } from "./row-filter.ts";

/** Length of the periods by which metrics are summed, and how long the sums are kept; both in milliseconds. */
export interface SumPeriod {
  ms: number;
  keptMs: number;
}

/** Start of the period that contains the time, in epoch milliseconds. */
export const startOf = (at: number, { ms }: Pick<SumPeriod, "ms">): number => Math.floor(at / ms) * ms;

/**
 * Selects the sums to read: the longest periods that fit the range and `step`, the granularity of the requested times.
 * If no period fits, the shortest one whose sums still cover the range: the first and the last of them then include
 * some time outside the range. `periods` are in ascending order; each is a multiple of the previous one.
 */
export function choosePeriod(
  periods: readonly SumPeriod[],
  { since, until, step, now }: { since: number; until: number; step?: number | undefined; now: number },
): SumPeriod {
  const suitable = periods.filter(({ ms }) => step === undefined || step % ms === 0);
  const exact = suitable.findLast(({ ms }) => since % ms === 0 && (until % ms === 0 || until > now));
  return exact ?? periods.find(({ keptMs }) => since >= now - keptMs) ?? periods.at(-1)!;
}

interface SumsQuery<Column extends string> {
  /**
   * Has the columns `account_id`, `period` (milliseconds) and `start_at` (epoch milliseconds), in this order in an
   * index.
   */
  table: string;
  account: string;
  period: SumPeriod;
  /** Range in epoch milliseconds: start inclusive, end exclusive. Extended to whole periods. */
  since: number;
  until: number;
  filter: RowFilter<Column>;
  /** SQL of a column. */
  expression(column: Column): RawBuilder<ColumnValue>;
  /**
   * Columns with an index on account, column, period and start; a condition `=` or `in` on one of them limits the read.
   */
  indexed?: readonly Column[];
  groupBy: readonly Column[];
  sums: readonly string[];
  maxima?: readonly string[];
  /** Maximum number of rows to read and of groups to return. */
  limits: { rows: number; groups: number };
  /** Rows per statement. Default 20,000: SQLite blocks everything else while it counts. */
  window?: number;
  /** Returns the error for a limit that is exceeded. */
  tooMany(limit: number): Error;
}

export interface SumsRow {
  /** In the order of `groupBy`. */
  values: ColumnValue[];
  sums: Record<string, number>;
}

/** Adds up the sums of whole periods by group, in the database, in windows of bounded size. */
export async function readSums<Column extends string>(
  db: Db,
  {
    table,
    account,
    period,
    since,
    until,
    filter,
    expression,
    indexed = [],
    groupBy,
    sums,
    maxima = [],
    limits,
    window: windowRows = 20_000,
    tooMany,
  }: SumsQuery<Column>,
): Promise<SumsRow[]> {
  const tables = db.tables<Record<string, Record<string, ColumnValue>>>();
  const equalities = (("all" in filter ? filter.all : [filter]) as RowFilter<Column>[]).filter(
    (part) => "column" in part && ["=", "in"].includes(part.operator) && indexed.includes(part.column),
  );
  const rowsFrom = (from: number) => {
    let query = tables
      .selectFrom(table)
      .where("account_id", "=", account)
      .where("period", "=", period.ms)
      .where("start_at", ">=", from)
      .where("start_at", "<", until);
    for (const equality of equalities) query = query.where(filterCondition(equality, expression));
    return query;
  };

  const groups = new Map<string, SumsRow>();
  function add(row: Record<string, ColumnValue>) {
    const values = groupBy.map((_, i) => row[`c${i}`]!);
    const key = JSON.stringify(values);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { values, sums: {} }));
    for (const name of sums) group.sums[name] = (group.sums[name] ?? 0) + Number(row[name] ?? 0);
    for (const name of maxima) group.sums[name] = Math.max(group.sums[name] ?? 0, Number(row[name] ?? 0));
    if (groups.size > limits.groups) throw tooMany(limits.groups);
  }

  let from: number | undefined = startOf(since, period);
  for (let seenRows = 0; from !== undefined && from < until; seenRows += windowRows) {
    if (seenRows >= limits.rows) throw tooMany(limits.rows);
    const start: number = from;
    const [last] = await db.read<{ start_at: number }>(
      rowsFrom(start).select("start_at").orderBy("start_at").offset(windowRows).limit(1) as never,
    );
    // The rows of one period are always read together.
    const next = last === undefined ? undefined : last.start_at > start ? last.start_at : start + period.ms;
    const window = next === undefined ? rowsFrom(start) : rowsFrom(start).where("start_at", "<", next);
    const rows = await db.read<Record<string, ColumnValue>>(
      window
        .where(filterCondition(filter, expression))
        .select([
          ...groupBy.map((column, i) => expression(column).as(`c${i}`)),
          ...sums.map((name) => sql<number>`sum(${sql.ref(name)})`.as(name)),
          ...maxima.map((name) => sql<number>`max(${sql.ref(name)})`.as(name)),
          sql<number>`count(*)`.as("row_count"),
        ])
        .$if(groupBy.length > 0, (some) => some.groupBy(groupBy.map((_, i) => sql.ref(`c${i}`)) as never)) as never,
    );
    for (const row of rows) if (Number(row["row_count"]) > 0) add(row);
    from = next;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return [...groups.values()];
}

/**
 * Deletes the sums whose retention time has passed. Each statement deletes the sums of one start time, so that other
 * writes can run in between. Needs an index on `period` and `start_at`.
 */
export async function deleteOldSums(db: Db, table: string, periods: readonly SumPeriod[], now: number): Promise<void> {
  const tables = db.tables<Record<string, { period: number; start_at: number }>>();
  for (const { ms, keptMs } of periods)
    for (;;) {
      const [oldest] = await db.read<{ start_at: number }>(
        tables
          .selectFrom(table)
          .select("start_at")
          .where("period", "=", ms)
          .where("start_at", "<", now - keptMs - ms)
          .orderBy("start_at")
          .limit(1) as never,
      );
      if (oldest === undefined) break;
      await db.write(
        tables.deleteFrom(table).where("period", "=", ms).where("start_at", "=", oldest.start_at) as never,
      );
    }
}
