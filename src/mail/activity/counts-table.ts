import { sql, type RawBuilder } from "kysely";
import { filterCondition, roundedTime, type ColumnValue, type Db, type RowFilter } from "../../store/index.ts";
import type { EntryRow, EntryTables } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import type { EntryKind } from "./types.ts";

/**
 * Columns by which entries can be counted and compared. `at/<milliseconds>` is the time rounded down to that interval;
 * `session` is shared by the recipients of one message.
 */
export type CountColumn =
  | Exclude<keyof EntryRow, "details" | "version" | "account_id" | "kind" | "size">
  | `at/${number}`
  | "session";
export type CountFilter = RowFilter<CountColumn>;

export interface CountQuery {
  /** Limits the query to the entries of a zone, of an account, or both. */
  zone?: string;
  account?: string;
  kind: EntryKind;
  /** Range for the time of the first step; `since` is inclusive, `until` exclusive. */
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

export type { ColumnValue };

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
    { zone, account, kind, since, until }: Pick<CountQuery, "zone" | "account" | "kind" | "since" | "until">,
    { backward = false } = {},
  ) {
    const [direction, pastOperator, upTo] = backward ? (["desc", "<", ">="] as const) : (["asc", ">", "<="] as const);
    if (zone === undefined && account === undefined) throw new TypeError("a count needs a zone or an account");
    const ownRowsQuery = tables
      .selectFrom("email_log")
      .$if(zone !== undefined, (query) => query.where("zone_id", "=", zone!))
      .$if(account !== undefined, (query) => query.where("account_id", "=", account!))
      .where("kind", "=", kind)
      .where("at", ">=", since)
      .where("at", "<", until);
    let from: { at: number; id: string } | undefined;
    for (let seenRows = 0; ; seenRows += WINDOW) {
      if (seenRows >= maxEntries) throw activityErrors.tooMany({ limit: maxEntries });
      const after = from;
      const rest =
        after === undefined
          ? ownRowsQuery
          : ownRowsQuery.where((eb) => eb(eb.refTuple("at", "id"), pastOperator, eb.tuple(after.at, after.id)));
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
          .where(filterCondition(filter, expression))
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

    /** Resolves with some columns of the first entries in the given order. */
    async rows({ order, limit, filter, columns, ...about }: RowsQuery): Promise<ColumnValue[][]> {
      const isByTime = order.length === 0 || order[0]!.column === "at";
      const isBackward = isByTime && order[0]?.descending === true;
      const foundRows: Found[] = [];
      for await (const window of windows(about, { backward: isBackward })) {
        let some = window
          .where(filterCondition(filter, expression))
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
  return roundedTime("at", Number(step));
}

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
