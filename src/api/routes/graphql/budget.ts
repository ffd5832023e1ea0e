import { QueryError } from "./lex.ts";

/** Response limits of one request, across all its datasets. */
export interface Budget {
  /** Returns the number of rows with this many fields that still fit. */
  rows(fields: number): number;
  /** Counts rows before they are built. Throws QueryError. */
  spend(rows: number, fields: number): void;
  /** Counts the characters of a value. Throws QueryError. */
  text(value: unknown): void;
  /** Throws QueryError after the time limit. */
  check(): void;
}

export interface BudgetLimits {
  /** Values: rows times fields. */
  cells: number;
  characters: number;
  ms: number;
}

/** Large enough for a full page (10,000 rows) with all fields. */
export const GRAPHQL_LIMITS: BudgetLimits = { cells: 300_000, characters: 32 * 1024 * 1024, ms: 15_000 };

export function createBudget({ cells, characters, ms }: BudgetLimits, now = () => performance.now()): Budget {
  const deadline = now() + ms;
  let [cellsLeft, charactersLeft] = [cells, characters];
  return {
    rows: (fields) => Math.floor(cellsLeft / Math.max(1, fields)),
    spend(rows, fields) {
      cellsLeft -= rows * fields;
      if (cellsLeft < 0)
        throw new QueryError(
          `the response has more than ${cells} values: request fewer fields, set a lower limit, or split the request`,
        );
    },
    text(value) {
      if (typeof value !== "string") return;
      charactersLeft -= value.length;
      if (charactersLeft < 0)
        throw new QueryError(
          `the response has more than ${characters} characters: request fewer fields, set a lower limit, or split the request`,
        );
    },
    check() {
      if (now() > deadline)
        throw new QueryError(
          `the query took longer than ${ms / 1000} s: request a shorter time range, or split the request`,
        );
    },
  };
}
