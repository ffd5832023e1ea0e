import type { D1Connection } from "./d1-database.ts";

/** The result of one statement. */
export interface QueryResult {
  success: boolean;
  results: Record<string, unknown>[];
  meta?: { duration?: number; rows_read?: number; rows_written?: number; changes?: number; last_row_id?: number };
}

/** Timeout of one call: a migration can be slow. */
const TIMEOUT_MS = 300_000;

/** Runs the statements of `sql` in order; returns one result for each. */
export const runSql = (
  { api, database }: Pick<D1Connection, "api" | "database">,
  sql: string,
  params?: readonly unknown[],
): Promise<QueryResult[]> =>
  api.result<QueryResult[]>("POST", `${database}/query`, {
    json: { sql, ...(params !== undefined && { params }) },
    timeoutMs: TIMEOUT_MS,
  });
