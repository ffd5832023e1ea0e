import { api } from "../../../api/client.ts";

export interface SqlResult {
  columns: string[];
  rows: unknown[][];
  meta: { duration?: number; rows_read?: number; rows_written?: number; changes?: number };
}

/** Runs SQL and resolves with the result of each statement. Throws ApiError with SQLite's message. */
export async function runSql(
  path: { account_id: string; database_id: string },
  sql: string,
  params: readonly unknown[] = [],
): Promise<SqlResult[]> {
  const results = (await api.post("/accounts/{account_id}/d1/database/{database_id}/raw", {
    path,
    body: { sql, params: [...params] },
  })) as { results?: { columns: string[]; rows: unknown[][] }; meta: SqlResult["meta"] }[];
  return results.map(({ results: table, meta }) => ({ columns: table?.columns ?? [], rows: table?.rows ?? [], meta }));
}

/** Quotes an identifier (https://sqlite.org/lang_keywords.html). */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Returns a value as text: null is NULL, a BLOB its bytes in hexadecimal. */
export function textOfValue(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (Array.isArray(value)) return value.map((octet: number) => octet.toString(16).padStart(2, "0")).join("");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** RFC 4180. */
export function csvOf({ columns, rows }: Pick<SqlResult, "columns" | "rows">): string {
  const field = (value: unknown) => {
    const text = value === null || value === undefined ? "" : textOfValue(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}
