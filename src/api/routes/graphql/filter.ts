import type { FilterOperator, RowFilter } from "../../../store/index.ts";
import type { DatasetColumn } from "./columns.ts";
import { QueryError } from "./lex.ts";

export interface DatasetFilter<Column extends string> {
  filter: RowFilter<Column>;
  /** The time range to which the conditions restrict the rows: start inclusive, end exclusive. */
  since: number;
  until: number;
}

interface FilterOptions<Column extends string> {
  /**
   * A condition that no row meets. With it, `isLastEvent` can be compared: every row describes the final state of its
   * message.
   */
  never?: RowFilter<Column>;
  /**
   * True if each row is the sum of a period: conditions on the time that every match must meet then apply only through
   * the time range.
   */
  isSummed?: boolean;
}

const OPERATORS: Record<string, FilterOperator> = {
  "": "=",
  _neq: "!=",
  _gt: ">",
  _geq: ">=",
  _lt: "<",
  _leq: "<=",
  _in: "in",
  _notin: "not in",
  _like: "like",
  _notlike: "not like",
};
const MAX_CONDITIONS = 100;
const MAX_VALUES = 100;

/** Parses `filter: { datetime_geq: "…", status: "delivered", OR: [{…}] }`. Throws QueryError. */
export function readFilter<Column extends string>(
  input: unknown,
  columns: ReadonlyMap<string, DatasetColumn<Column>>,
  { never, isSummed = false }: FilterOptions<Column> = {},
): DatasetFilter<Column> {
  const range = { since: 0, until: Number.MAX_SAFE_INTEGER };
  let count = 0;

  function counted() {
    if (++count > MAX_CONDITIONS) throw new QueryError(`the filter has more than ${MAX_CONDITIONS} conditions`);
  }

  function read(filter: unknown, certain: boolean): RowFilter<Column> {
    if (typeof filter !== "object" || filter === null || Array.isArray(filter))
      throw new QueryError(
        `filter must be an object such as {datetime_geq: "2026-01-31T12:00:00Z"}, not ${show(filter)}`,
      );
    // An empty filter counts as one condition, because a list may contain any number of them.
    if (Object.keys(filter).length === 0) counted();
    const all = Object.entries(filter)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]): RowFilter<Column> => {
        counted();
        if (key === "AND" || key === "OR") {
          if (!Array.isArray(value)) throw new QueryError(`${key} must be a list of filters`);
          const parts = value.map((one) => read(one, certain && key === "AND"));
          return key === "AND" ? { all: parts } : { any: parts };
        }
        return parseCondition(key, value, certain);
      });
    return { all };
  }

  function parseCondition(key: string, value: unknown, certain: boolean): RowFilter<Column> {
    // Variable names may contain any characters, including line breaks.
    const [, name, suffix] = /^(.*?)(_[a-z]+)?$/s.exec(key)!;
    if (name === "isLastEvent" && suffix === undefined && never !== undefined)
      return value === 1 || value === true ? { all: [] } : never;
    const column = columns.get(name!);
    const operator = OPERATORS[suffix ?? ""];
    if (column === undefined || operator === undefined) throw new QueryError(`unknown filter "${key}"`);
    const isText = column.type === "text" || column.type === "address";
    if ((operator === "like" || operator === "not like") && !isText)
      throw new QueryError(`${key}: only strings can be compared with a pattern`);
    const isList = operator === "in" || operator === "not in";
    if (isList && (!Array.isArray(value) || value.length > MAX_VALUES))
      throw new QueryError(`${key} must be a list of at most ${MAX_VALUES} values`);
    const read = isList ? (value as unknown[]).map((one) => valueOf(column, key, one)) : valueOf(column, key, value);
    if (certain && !Array.isArray(read) && narrow(column, operator, read) && isSummed) return { all: [] };
    const comparedColumn: Column = column.compared ?? column.column;
    // An empty string matches missing values.
    if (isText && read === "" && (operator === "=" || operator === "!=")) {
      const empty: RowFilter<Column>[] = [
        { column: comparedColumn, operator, value: "" },
        { column: comparedColumn, operator, value: null },
      ];
      return operator === "=" ? { any: empty } : { all: empty };
    }
    return { column: comparedColumn, operator, value: read };
  }

  /** Narrows `range` to the condition. Returns false if the condition cannot be expressed as a range. */
  function narrow(
    { type, step = 1 }: DatasetColumn<Column>,
    operator: FilterOperator,
    value: string | number,
  ): boolean {
    if ((type !== "time" && type !== "date") || typeof value !== "number") return false;
    const [begin, next] = [Math.ceil(value / step) * step, (Math.floor(value / step) + 1) * step];
    switch (operator) {
      case ">=":
        range.since = Math.max(range.since, begin);
        return true;
      case ">":
        range.since = Math.max(range.since, next);
        return true;
      case "<":
        range.until = Math.min(range.until, begin);
        return true;
      case "<=":
        range.until = Math.min(range.until, next);
        return true;
      case "=":
        range.since = Math.max(range.since, begin);
        range.until = Math.min(range.until, next);
        return true;
      default:
        return false;
    }
  }

  const filter = input === undefined || input === null ? { all: [] } : read(input, true);
  return { filter, ...range };
}

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function valueOf({ type }: Pick<DatasetColumn<string>, "type">, key: string, value: unknown): string | number {
  switch (type) {
    case "time":
    case "date": {
      const at = typeof value === "string" && TIME.test(value) ? Date.parse(value) : Number.NaN;
      if (Number.isNaN(at))
        throw new QueryError(
          `${key} must be a time such as "2026-01-31T12:00:00Z", or a day such as "2026-01-31", not ${show(value)}`,
        );
      return at;
    }
    case "flag":
      if (value === 0 || value === 1 || typeof value === "boolean") return Number(value);
      throw new QueryError(`${key} must be 0 or 1, not ${show(value)}`);
    case "number":
      if (typeof value === "number") return value;
      throw new QueryError(`${key} must be a number, not ${show(value)}`);
    case "address":
    case "text":
      if (typeof value !== "string" || value.length > 1000)
        throw new QueryError(`${key} must be a string of at most 1000 characters, not ${show(value)}`);
      // PostgreSQL cannot compare U+0000, and no stored value contains it.
      return (type === "address" ? value.toLowerCase() : value).replaceAll("\0", "\ufffd");
  }
}

const show = (value: unknown) => JSON.stringify(value)?.slice(0, 60) ?? "nothing";
