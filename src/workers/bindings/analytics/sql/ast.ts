/** A query after parsing. */
export type Statement = { kind: "tables"; format: Format } | { kind: "timezone"; format: Format } | Select;

export type Format = "JSON" | "JSONEachRow" | "TabSeparated";

export interface Select {
  kind: "select";
  columns: (Column | "*")[];
  from: string | undefined;
  where: Expression | undefined;
  groupBy: Expression[];
  having: Expression | undefined;
  orderBy: { by: Expression; descending: boolean }[];
  limit: number | undefined;
  offset: number;
  format: Format;
}

export interface Column {
  expression: Expression;
  /** Its alias, or its text in the query. */
  name: string;
  alias: string | undefined;
}

export type Expression =
  | { kind: "literal"; value: string | number }
  /** Exactly one of the two is not 0. */
  | { kind: "interval"; seconds: number; months: number }
  | { kind: "name"; name: string }
  /** Functions have lower case names; operators are calls of their symbol: "+", "and", "in". */
  | { kind: "call"; name: string; args: Expression[]; /** `count(DISTINCT x)`. */ distinct?: boolean };

/** Equal for expressions that differ only in their spelling. */
export const keyOf = (expression: Expression): string => JSON.stringify(expression);
