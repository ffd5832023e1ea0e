/** A parsed query. */
export type Statement = { kind: "tables"; format: Format } | { kind: "timezone"; format: Format } | Select;

export type Format = "JSON" | "JSONEachRow" | "TabSeparated";

export interface Select {
  kind: "select";
  columns: (Column | "*")[];
  from: string | undefined;
  where: Expression | undefined;
  groupBy: Expression[];
  having: Expression | undefined;
  orderBy: { expression: Expression; descending: boolean }[];
  limit: number | undefined;
  offset: number;
  format: Format;
}

export interface Column {
  expression: Expression;
  /** The alias, or the text of the expression in the query. */
  name: string;
  alias: string | undefined;
}

export type Expression =
  | { kind: "literal"; value: string | number }
  /** At least one of `seconds` and `months` is 0. */
  | { kind: "interval"; seconds: number; months: number }
  | { kind: "name"; name: string }
  /** Function names are in lower case. Operators are calls named after their symbol: "+", "and", "in". */
  | { kind: "call"; name: string; args: Expression[]; /** True for `count(DISTINCT x)`. */ distinct?: boolean };

/** Returns the same key for expressions that differ only in formatting. */
export const keyOf = (expression: Expression): string => JSON.stringify(expression);
