import { painter, type Paint } from "../kernel/paint.ts";
import { oneLine } from "../kernel/text.ts";
import type { CommandContext } from "./command.ts";

/** Prints the result of a command: one JSON value for programs, lines for people. */
export function printResult(
  { json, stdout }: Pick<CommandContext, "json" | "stdout">,
  value: unknown,
  lines: (paint: Paint) => readonly string[],
): void {
  if (json) stdout.line(JSON.stringify(value));
  else for (const line of lines(painter(stdout))) stdout.line(line);
}

/**
 * Columns under their headings. Cells contain untrusted text, so each is reduced to one line without control
 * characters.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
  paint: Paint,
): string[] {
  const cells = rows.map((row) => row.map((cell) => oneLine(String(cell ?? ""))));
  const widths = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return [paint("dim", line(titles)), ...cells.map(line)];
}

/** Names and values, aligned. */
export function nameValueLines(
  pairs: readonly (readonly [name: string, value: string | undefined])[],
  paint: Paint,
): string[] {
  const visiblePairs = pairs.filter(([, value]) => value !== undefined);
  const width = Math.max(...visiblePairs.map(([name]) => name.length));
  return visiblePairs.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${value}`);
}

/** Returns a timestamp from the API in human-readable form: `2026-11-20 12:00:00 UTC`. */
export const formatUtcTime = (text: string | undefined): string =>
  text === undefined ? "" : text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, "$1 $2 UTC");

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
