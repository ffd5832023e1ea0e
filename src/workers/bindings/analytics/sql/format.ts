import { analyticsErrors } from "../errors.ts";
import type { Format } from "./ast.ts";
import { formatMiB, type QueryBudget } from "./budget.ts";
import type { Result } from "./run.ts";
import { formatDateTime, type Type, type SqlValue } from "./values.ts";

interface FormatOptions {
  /** Maximum size of the text in bytes. */
  maxBytes: number;
  budget: Pick<QueryBudget, "pause">;
}

const TYPES: Record<Format, string> = {
  TabSeparated: "text/tab-separated-values; charset=utf-8",
  JSONEachRow: "application/x-ndjson",
  JSON: "application/json",
};

/** Returns a result as text with its content type. Throws resultTooLarge. */
export async function formatResult(
  { columns, rows }: Result,
  format: Format,
  { maxBytes, budget }: FormatOptions,
): Promise<{ type: string; text: string }> {
  const formattedRows: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    await budget.pause();
    const text = formatRow(columns, row, format);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxBytes) throw analyticsErrors.resultTooLarge({ limit: formatMiB(maxBytes) });
    formattedRows.push(text);
  }
  const text =
    format === "JSON"
      ? `{"meta":${JSON.stringify(columns)},"data":[${formattedRows.join(",")}],"rows":${rows.length}}`
      : formattedRows.map((row) => `${row}\n`).join("");
  return { type: TYPES[format], text };
}

function formatRow(columns: Result["columns"], row: readonly SqlValue[], format: Format): string {
  const values = row.map((value, i) => formatValue(value, columns[i]!.type));
  return format === "TabSeparated"
    ? values.map(toTabText).join("\t")
    : JSON.stringify(Object.fromEntries(values.map((value, i) => [columns[i]!.name, value])));
}

/** Formats dates, and replaces NaN and infinity, which JSON cannot represent, with null. */
const formatValue = (value: SqlValue, type: Type): SqlValue | null =>
  type === "DateTime"
    ? formatDateTime(value as number)
    : typeof value === "number" && !Number.isFinite(value)
      ? null
      : value;

const ESCAPES: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\", "\0": "\\0" };
const toTabText = (value: SqlValue | null) =>
  value === null ? "\\N" : String(value).replace(/[\t\n\r\\\0]/g, (char) => ESCAPES[char]!);
