import { sql, type RawBuilder } from "kysely";

export type FilterOperator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "in" | "not in" | "like" | "not like";

/** All conditions of `all`, at least one of `any`, or one comparison. `null` is a missing value. */
export type RowFilter<Column extends string> =
  | { all: RowFilter<Column>[] }
  | { any: RowFilter<Column>[] }
  | { column: Column; operator: FilterOperator; value: string | number | (string | number)[] | null };

export type ColumnValue = string | number | null;

/** Returns the SQL condition; `expression` returns the SQL of a column. */
export function filterCondition<Column extends string>(
  filter: RowFilter<Column>,
  expression: (column: Column) => RawBuilder<ColumnValue>,
): RawBuilder<boolean> {
  const join = (parts: RowFilter<Column>[], word: "and" | "or"): RawBuilder<boolean> =>
    parts.length === 0
      ? sql`1 = 1`
      : sql`(${sql.join(
          parts.map((part) => filterCondition(part, expression)),
          sql.raw(` ${word} `),
        )})`;
  if ("all" in filter) return join(filter.all, "and");
  if ("any" in filter) return join(filter.any, "or");
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

/**
 * Returns a time column rounded down to `step` milliseconds. PostgreSQL would infer a separate type for a bound number,
 * and would treat the same expression in two places as two different ones.
 */
export const roundedTime = (column: string, step: number): RawBuilder<ColumnValue> =>
  sql`(${sql.ref(column)} - ${sql.ref(column)} % ${sql.lit(step)})`;
