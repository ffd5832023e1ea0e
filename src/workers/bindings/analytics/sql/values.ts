import { analyticsErrors } from "../errors.ts";
import type { StoredPoint } from "../points-table.ts";

/** Types of the hosted SQL API, which appear in the metadata of results. A DateTime is in epoch seconds. */
export type Type = "String" | "Float64" | "UInt64" | "Int64" | "UInt32" | "UInt8" | "DateTime";
export type SqlValue = string | number;

/** The data on which an expression is evaluated. */
export interface EvaluationScope {
  /** The current point; undefined for a query without FROM, and for groups. */
  point: StoredPoint | undefined;
  dataset: string;
  /** For groups: the values of the GROUP BY expressions, and of the aggregates. */
  keys: readonly SqlValue[];
  aggregates: readonly SqlValue[];
}

/** An expression whose names and types have been checked. */
export interface CompiledExpression {
  type: Type;
  /** True if the value depends on neither a point nor a group. */
  isConstant: boolean;
  evaluate(scope: EvaluationScope): SqlValue;
}

export const NO_SCOPE: EvaluationScope = { point: undefined, dataset: "", keys: [], aggregates: [] };

export const isNumeric = (type: Type) => type !== "String" && type !== "DateTime";
export const isInteger = (type: Type) => isNumeric(type) && type !== "Float64";

export const queryError = (reason: string) => analyticsErrors.invalidQuery({ reason });

/** Compares strings by UTF-16 code units and numbers by value. */
export const compare = (a: SqlValue, b: SqlValue): number => (a < b ? -1 : a > b ? 1 : 0);

/** Parses `YYYY-MM-DD` with an optional ` HH:MM:SS` in UTC. Throws invalidQuery. */
export function parseDateTime(text: string): number {
  const [, date, time = "00:00:00"] = /^\s*(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?\s*$/.exec(text) ?? [];
  const at = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(at))
    throw queryError(`"${text.slice(0, 40)}" is not a date; write it as 'YYYY-MM-DD' or 'YYYY-MM-DD HH:MM:SS'`);
  return at / 1000;
}

/** Formats epoch seconds as `YYYY-MM-DD HH:MM:SS` in UTC. */
export function formatDateTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "1970-01-01 00:00:00" : date.toISOString().slice(0, 19).replace("T", " ");
}

export function addMonths(seconds: number, months: number): number {
  const date = new Date(seconds * 1000);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return date.getTime() / 1000;
}

const WEEK_SECONDS = 7 * 86_400;
/** The first Monday after the epoch. */
const MONDAY_OFFSET_SECONDS = 4 * 86_400;

/** Returns the start of the interval that contains a time. Intervals are aligned to the epoch, and weeks to Mondays. */
export function startOfInterval(at: number, { seconds, months }: { seconds: number; months: number }): number {
  if (months > 0) {
    const date = new Date(at * 1000);
    const month = date.getUTCFullYear() * 12 + date.getUTCMonth();
    const start = month - (month % months);
    return Date.UTC(Math.floor(start / 12), start % 12) / 1000;
  }
  const origin = seconds % WEEK_SECONDS === 0 ? MONDAY_OFFSET_SECONDS : 0;
  return origin + Math.floor((at - origin) / seconds) * seconds;
}
