import { isAbsolute, relative } from "node:path";

/** Keys and indexes from the root of a document to a value. */
export type Path = readonly (string | number)[];

/** A problem in a user's file: position, message and fix. Problems are collected and shown together. */
export interface Problem {
  severity: "error" | "warning";
  /** Absolute path, or a description such as "environment variable X". */
  file?: string;
  /** Both count from 1. Columns are UTF-16 units, as in editors. */
  line?: number;
  column?: number;
  message: string;
  fix?: string;
  /** The source line with a marker, if the source is code. */
  frame?: string;
}

/** A position in a file. */
export type SourcePosition = Pick<Problem, "file" | "line" | "column">;

export const errorAt = (place: SourcePosition, message: string, fix?: string): Problem => ({
  severity: "error",
  ...place,
  message,
  ...(fix !== undefined && { fix }),
});
export const warningAt = (place: SourcePosition, message: string, fix?: string): Problem => ({
  ...errorAt(place, message, fix),
  severity: "warning",
});

export const errorsOf = (problems: readonly Problem[]): Problem[] =>
  problems.filter((problem) => problem.severity === "error");
export const warningsOf = (problems: readonly Problem[]): Problem[] =>
  problems.filter((problem) => problem.severity === "warning");

/** Sorts problems in reading order: by file, line and column; problems without a position come first. */
function sortProblems(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    (a, b) => compare(a.file ?? "", b.file ?? "") || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Returns the report for users. Each line starts with `file:line:column`, so that terminals and editors link to it.
 *
 * wrangler.jsonc:4:25: error: "compatibility_date" is not a calendar date: "2026-13-01" fix: write it as "YYYY-MM-DD",
 * for example "2026-11-20"
 */
export function formatProblems(problems: readonly Problem[], options: { cwd?: string } = {}): string {
  return sortProblems(problems)
    .map((problem) => formatProblem(problem, options))
    .join("\n");
}

function formatProblem(problem: Problem, { cwd }: { cwd?: string } = {}): string {
  const place = formatPosition(problem, cwd);
  const lines = [`${place === "" ? "" : `${place}: `}${problem.severity}: ${problem.message}`];
  if (problem.frame !== undefined) lines.push(...problem.frame.split("\n"));
  if (problem.fix !== undefined)
    lines.push(...problem.fix.split("\n").map((line, i) => (i === 0 ? `  fix: ${line}` : `       ${line}`)));
  return lines.join("\n");
}

/** `src/index.ts:3:10`, relative to `cwd` if the file is inside it. */
export function formatPosition({ file, line, column }: SourcePosition, cwd?: string): string {
  if (file === undefined) return "";
  const displayPath = cwd === undefined || !isAbsolute(file) ? file : relative(cwd, file);
  const name = displayPath === "" || displayPath.startsWith("..") ? file : displayPath;
  return [name, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(":");
}

/** "2 errors and 1 warning" */
export function countProblems(problems: readonly Problem[]): string {
  const count = (n: number, word: string) => (n === 0 ? [] : [`${n} ${word}${n === 1 ? "" : "s"}`]);
  return (
    [...count(errorsOf(problems).length, "error"), ...count(warningsOf(problems).length, "warning")].join(" and ") ||
    "no problems"
  );
}

/**
 * Returns the text of line number `line` with a marker under `length` characters from `column`. `line` and `column` are
 * 1-based. Long lines are truncated around the marker.
 */
export function codeFrame(lineText: string, line: number, column: number, length = 1): string {
  const width = 110;
  const start = Math.max(0, Math.min(column - 1 - 30, lineText.length - width));
  const shownText = lineText.slice(start, start + width).replaceAll("\t", " ");
  const gutter = String(line).padStart(5);
  const underlineLength = Math.max(1, Math.min(length, shownText.length - (column - 1 - start)));
  return `${gutter} | ${shownText}\n${" ".repeat(gutter.length)} | ${" ".repeat(Math.max(0, column - 1 - start))}${"^".repeat(underlineLength)}`;
}
