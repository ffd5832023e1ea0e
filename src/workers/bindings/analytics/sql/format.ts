import type { Format } from "./ast.ts";
import type { Result } from "./run.ts";
import { formatDateTime, type Type, type Value } from "./values.ts";

/** Returns a result as text with its content type. */
export function formatResult({ columns, rows }: Result, format: Format): { type: string; text: string } {
  const formattedRows = rows.map((row) => row.map((value, i) => formatValue(value, columns[i]!.type)));
  if (format === "TabSeparated")
    return {
      type: "text/tab-separated-values; charset=utf-8",
      text: formattedRows.map((row) => `${row.map(tabText).join("\t")}\n`).join(""),
    };
  const objects = formattedRows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i]!.name, value])));
  if (format === "JSONEachRow")
    return { type: "application/x-ndjson", text: objects.map((row) => `${JSON.stringify(row)}\n`).join("") };
  return { type: "application/json", text: JSON.stringify({ meta: columns, data: objects, rows: objects.length }) };
}

/** Formats dates, and replaces NaN and infinity, which JSON cannot represent, with null. */
const formatValue = (value: Value, type: Type): Value | null =>
  type === "DateTime"
    ? formatDateTime(value as number)
    : typeof value === "number" && !Number.isFinite(value)
      ? null
      : value;

const ESCAPES: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\", "\0": "\\0" };
const tabText = (value: Value | null) =>
  value === null ? "\\N" : String(value).replace(/[\t\n\r\\\0]/g, (char) => ESCAPES[char]!);
