import { sql, type RawBuilder } from "kysely";
import type { Db } from "../../store/index.ts";
import type { EntryRow, EntryTables } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import type { EntryKind } from "./types.ts";

/**
 * Columns by which entries can be counted and compared. `at/<milliseconds>` is the time rounded down to that interval;
 * `session` is shared by the recipients of one message.
 */
export type CountColumn =
  | Exclude<keyof EntryRow, "details" | "version" | "account_id" | "zone_id" | "kind" | "size">
  | `at/${number}`
  | "session";
export type CountOperator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "in" | "not in" | "like" | "not like";

/** All conditions of `all`, or at least one of `any`. */
export type CountFilter =
  | { all: CountFilter[] }
  | { any: CountFilter[] }
  | { column: CountColumn; operator: CountOperator; value: string | number | (string | number)[] | null };

export interface CountQuery {
  zone: string;
  kind: EntryKind;
  /** Range of the time of the first step; `since` is inclusive, `until` exclusive. */
  since: number;
  until: number;
  filter: CountFilter;
  groupBy: CountColumn[];
}

export interface RowsQuery extends Omit<CountQuery, "groupBy"> {
  order: { column: CountColumn; descending: boolean }[];
  limit: number;
  columns: CountColumn[];
}

export type ColumnValue = string | number | null;

export interface Count {
  count: number;
  /** In the order of `groupBy`. */
  values: ColumnValue[];
}

/** Entries per statement: SQLite blocks everything else while it counts. */
const WINDOW = 20_000;
const MAX_GROUPS = 20_000;

interface CountsOptions {
  /** Maximum number of entries a query may cover. */
  maxEntries: number;
}

/** Counts entries by column values. Throws tooMany if the time range holds more entries than a query may cover. */
export function createCounts(db: Db, { maxEntries }: CountsOptions) {
  const tables = db.tables<EntryTables>();

  /** Splits a time range into windows, from the oldest or from the newest. */
  async function* windows(
    { zone, kind, since, until }: Pick<CountQuery, "zone" | "kind" | "since" | "until">,
    { backward = false } = {},
  ) {
    const [direction, pastOperator, upTo] = backward ? (["desc", "<", ">="] as const) : (["asc", ">", "<="] as const);
    const zoneRowsQuery = tables
      .selectFrom("email_log")
      .where("zone_id", "=", zone)
      .where("kind", "=", kind)
      .where("at", ">=", since)
      .where("at", "<", until);
    let from: { at: number; id: string } | undefined;
    for (let seenRows = 0; ; seenRows += WINDOW) {
      if (seenRows >= maxEntries) throw activityErrors.tooMany({ limit: maxEntries });
      const after = from;
      const rest =
        after === undefined
          ? zoneRowsQuery
          : zoneRowsQuery.where((eb) => eb(eb.refTuple("at", "id"), pastOperator, eb.tuple(after.at, after.id)));
      const [last] = await db.read<{ at: number; id: string }>(
        rest
          .select(["at", "id"])
          .orderBy("at", direction)
          .orderBy("id", direction)
          .offset(WINDOW - 1)
          .limit(1),
      );
      yield last === undefined
        ? rest
        : rest.where((eb) => eb(eb.refTuple("at", "id"), upTo, eb.tuple(last.at, last.id)));
      if (last === undefined) return;
      from = last;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  return {
    async groups({ groupBy, filter, ...about }: CountQuery): Promise<Count[]> {
      const groups = new Map<string, Count>();
      for await (const window of windows(about)) {
        const columns = groupBy.map((column, i) => expression(column).as(`c${i}`));
        const counted = window
          .where(condition(filter))
          .select([...columns, sql<number>`count(*)`.as("n")])
          .$if(groupBy.length > 0, (some) => some.groupBy(groupBy.map((_, i) => sql.ref(`c${i}`)) as never));
        for (const row of (await db.read(counted)) as Record<string, string | number | null>[]) {
          const values = groupBy.map((_, i) => row[`c${i}`]!);
          const key = JSON.stringify(values);
          const group = groups.get(key);
          if (group !== undefined) group.count += Number(row["n"]);
          else if (Number(row["n"]) > 0) groups.set(key, { count: Number(row["n"]), values });
          if (groups.size > MAX_GROUPS) throw activityErrors.tooMany({ limit: MAX_GROUPS });
        }
      }
      return [...groups.values()];
    },

    /** Some columns of the first entries in the given order. */
    async rows({ order, limit, filter, columns, ...about }: RowsQuery): Promise<ColumnValue[][]> {
      const isByTime = order.length === 0 || order[0]!.column === "at";
      const isBackward = isByTime && order[0]?.descending === true;
      const foundRows: Found[] = [];
      for await (const window of windows(about, { backward: isBackward })) {
        let some = window
          .where(condition(filter))
          .select([
            ...columns.map((column, i) => expression(column).as(`c${i}`)),
            ...order.map(({ column }, i) => expression(column).as(`o${i}`)),
            "id",
          ]);
        for (const [i, { descending }] of order.entries())
          some = some.orderBy(sql.ref(`o${i}`), descending ? "desc" : "asc");
        foundRows.push(...((await db.read(some.orderBy("id").limit(limit))) as Found[]));
        if (isByTime && foundRows.length >= limit) break;
        if (!isByTime && foundRows.length > limit) keepFirst(foundRows, order, limit);
      }
      return foundRows.slice(0, limit).map((row) => columns.map((_, i) => row[`c${i}`]!));
    },
  };
}

type Found = Record<string, ColumnValue>;

function expression(column: CountColumn): RawBuilder<ColumnValue> {
  if (column === "session") return sql`substr(id, 1, 12)`;
  const step = /^at\/(\d+)$/.exec(column)?.[1];
  if (step === undefined) return sql`${sql.ref(column)}`;
  // PostgreSQL would infer a separate type for a bound number, and would treat the same expression in two places as two
  // different ones.
  return sql`(at - at % ${sql.lit(Number(step))})`;
}

function condition(filter: CountFilter): RawBuilder<boolean> {
  if ("all" in filter) return joinConditions(filter.all, "and");
  if ("any" in filter) return joinConditions(filter.any, "or");
  const { column, operator, value } = filter;
  const left = expression(column);
  if (value === null) return operator === "=" ? sql`${left} is null` : sql`${left} is not null`;
  if (Array.isArray(value)) {
    if (value.length === 0) return operator === "in" ? sql`1 = 0` : sql`1 = 1`;
    return sql`${left} ${sql.raw(operator)} (${sql.join(value)})`;
  }
  if (operator === "like" || operator === "not like") return sql`${left} ${sql.raw(operator)} ${value}`;
  if (operator === "!=") return sql`(${left} <> ${value} or ${left} is null)`;
  return sql`${left} ${sql.raw(operator)} ${value}`;
}

const joinConditions = (parts: CountFilter[], word: "and" | "or"): RawBuilder<boolean> =>
  parts.length === 0 ? sql`1 = 1` : sql`(${sql.join(parts.map(condition), sql.raw(` ${word} `))})`;

/** Sorts the rows found so far and keeps those that can still be among the first. */
function keepFirst(foundRows: Found[], order: RowsQuery["order"], limit: number): void {
  foundRows.sort((a, b) => {
    for (const [i, { descending }] of order.entries()) {
      const [x, y] = [a[`o${i}`] ?? "", b[`o${i}`] ?? ""];
      if (x !== y) return x < y === descending ? 1 : -1;
    }
    return a["id"]! < b["id"]! ? -1 : 1;
  });
  foundRows.length = Math.min(foundRows.length, limit);
}
