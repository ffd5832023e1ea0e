import { sql, type RawBuilder } from "kysely";
import type { Db } from "../../store/index.ts";
import type { EntryRow, EntryTables } from "./entries-table.ts";
import { activityErrors } from "./errors.ts";
import type { EntryKind } from "./types.ts";

/** Columns entries can be counted by and compared with. `at/<milliseconds>` is the time, cut down to that. */
export type CountColumn = Exclude<keyof EntryRow, "details" | "version" | "account_id" | "zone_id" | "kind" | "size"> | `at/${number}`;
export type CountOperator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "in" | "not in" | "like" | "not like";

/** All of `all`, or one of `any`. */
export type CountFilter = { all: CountFilter[] } | { any: CountFilter[] } | { column: CountColumn; operator: CountOperator; value: string | number | (string | number)[] | null };

export interface CountQuery {
  zone: string;
  kind: EntryKind;
  /** Of the first step; the first inclusive, the second not. */
  since: number;
  until: number;
  filter: CountFilter;
  by: CountColumn[];
}

export interface RowsQuery extends Omit<CountQuery, "by"> {
  order: { column: CountColumn; descending: boolean }[];
  limit: number;
}

export interface Count {
  count: number;
  /** In the order of `by`. */
  values: (string | number | null)[];
}

/** Entries of one statement: SQLite counts while everything else waits. */
const WINDOW = 20_000;
const MAX_GROUPS = 20_000;

export interface CountsOptions {
  /** Entries one question may be about. */
  most: number;
}

/** Counts entries by what they share. Throws tooMany where the time asked for holds more than a question may cost. */
export function createCounts(db: Db, { most }: CountsOptions) {
  const tables = db.tables<EntryTables>();

  /** Between two ends, some at a time. */
  async function* windows({ zone, kind, since, until }: Pick<CountQuery, "zone" | "kind" | "since" | "until">) {
    let from: { at: number; id: string } | undefined;
    for (let seen = 0; ; seen += WINDOW) {
      if (seen >= most) throw activityErrors.tooMany({ limit: most });
      const some = tables.selectFrom("email_log").where("zone_id", "=", zone).where("kind", "=", kind).where("at", ">=", since).where("at", "<", until);
      const after = from;
      const next = after === undefined ? some : some.where((eb) => eb(eb.refTuple("at", "id"), ">", eb.tuple(after.at, after.id)));
      const [last] = await db.read<{ at: number; id: string }>(next.select(["at", "id"]).orderBy("at").orderBy("id").offset(WINDOW - 1).limit(1));
      yield last === undefined ? next : next.where((eb) => eb(eb.refTuple("at", "id"), "<=", eb.tuple(last.at, last.id)));
      if (last === undefined) return;
      from = last;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  return {
    async groups({ by, filter, ...about }: CountQuery): Promise<Count[]> {
      const groups = new Map<string, Count>();
      for await (const window of windows(about)) {
        const columns = by.map((column, i) => expression(column).as(`c${i}`));
        const counted = window.where(condition(filter)).select([...columns, sql<number>`count(*)`.as("n")]).$if(by.length > 0, (some) => some.groupBy(by.map((_, i) => sql.ref(`c${i}`)) as never));
        for (const row of (await db.read(counted)) as Record<string, string | number | null>[]) {
          const values = by.map((_, i) => row[`c${i}`]!);
          const key = JSON.stringify(values);
          const group = groups.get(key);
          if (group !== undefined) group.count += Number(row["n"]);
          else if (Number(row["n"]) > 0) groups.set(key, { count: Number(row["n"]), values });
          if (groups.size > MAX_GROUPS) throw activityErrors.tooMany({ limit: MAX_GROUPS });
        }
      }
      return [...groups.values()];
    },

    /** The first entries in some order. */
    async rows({ order, limit, filter, ...about }: RowsQuery): Promise<EntryRow[]> {
      const byTime = order.length === 0 || order[0]!.column === "at";
      const rows: EntryRow[] = [];
      const descending = order[0]?.descending ?? false;
      for await (const window of byTime && descending ? backwards(about) : windows(about)) {
        let some = window.where(condition(filter)).selectAll();
        for (const one of order) some = some.orderBy(expression(one.column), one.descending ? "desc" : "asc");
        rows.push(...(await db.read(some.orderBy("id").limit(limit))));
        if (byTime && rows.length >= limit) break;
        if (!byTime && rows.length > limit) keepFirst(rows, order, limit);
      }
      return rows.slice(0, limit);
    },
  };

  async function* backwards({ zone, kind, since, until }: Pick<CountQuery, "zone" | "kind" | "since" | "until">) {
    let to: { at: number; id: string } | undefined;
    for (let seen = 0; ; seen += WINDOW) {
      if (seen >= most) throw activityErrors.tooMany({ limit: most });
      const some = tables.selectFrom("email_log").where("zone_id", "=", zone).where("kind", "=", kind).where("at", ">=", since).where("at", "<", until);
      const before = to;
      const next = before === undefined ? some : some.where((eb) => eb(eb.refTuple("at", "id"), "<", eb.tuple(before.at, before.id)));
      const [last] = await db.read<{ at: number; id: string }>(next.select(["at", "id"]).orderBy("at", "desc").orderBy("id", "desc").offset(WINDOW - 1).limit(1));
      yield last === undefined ? next : next.where((eb) => eb(eb.refTuple("at", "id"), ">=", eb.tuple(last.at, last.id)));
      if (last === undefined) return;
      to = last;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

export type Counts = ReturnType<typeof createCounts>;

function expression(column: CountColumn): RawBuilder<string | number | null> {
  const step = /^at\/(\d+)$/.exec(column)?.[1];
  if (step === undefined) return sql`${sql.ref(column)}`;
  // A bound number would be a type of its own to PostgreSQL, and the same expression in two places two expressions.
  return sql`(at - at % ${sql.lit(Number(step))})`;
}

function condition(filter: CountFilter): RawBuilder<boolean> {
  if ("all" in filter) return joined(filter.all, "and");
  if ("any" in filter) return joined(filter.any, "or");
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

const joined = (parts: CountFilter[], word: "and" | "or"): RawBuilder<boolean> =>
  parts.length === 0 ? sql`1 = 1` : sql`(${sql.join(parts.map(condition), sql.raw(` ${word} `))})`;

/** Of what was found so far, what may be among the first. */
function keepFirst(rows: EntryRow[], order: RowsQuery["order"], limit: number): void {
  rows.sort((a, b) => {
    for (const { column, descending } of order) {
      const [x, y] = [valueOf(a, column), valueOf(b, column)];
      if (x !== y) return (x < y ? -1 : 1) * (descending ? -1 : 1);
    }
    return a.id < b.id ? -1 : 1;
  });
  rows.length = Math.min(rows.length, limit);
}

function valueOf(row: EntryRow, column: CountColumn): string | number {
  const step = /^at\/(\d+)$/.exec(column)?.[1];
  if (step !== undefined) return row.at - (row.at % Number(step));
  return row[column as keyof EntryRow] ?? "";
}
