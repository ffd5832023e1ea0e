import type { Expression } from "./ast.ts";
import { compile, type Context } from "./compile.ts";
import { NO_SCOPE, secondsOf } from "./values.ts";

/** A range in epoch milliseconds, both ends included. */
export interface TimeRange {
  from: number;
  to: number;
}

const MIRRORED: Record<string, string> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=" };

/**
 * The range of time outside of which a condition is false, from comparisons of `timestamp` that are combined with AND.
 * It may be wider than the condition, which is still evaluated for each point.
 */
export function timeRangeOf(where: Expression | undefined, context: Context): TimeRange {
  const range: TimeRange = { from: 0, to: Number.MAX_SAFE_INTEGER };
  const narrow = (expression: Expression): void => {
    if (expression.kind !== "call") return;
    const [left, right] = expression.args as [Expression, Expression];
    if (expression.name === "and") {
      narrow(left);
      narrow(right);
    }
    if (!Object.hasOwn(MIRRORED, expression.name)) return;
    const mirrored = isTimestamp(right);
    const bound = boundOf(mirrored ? left : isTimestamp(left) ? right : undefined, context);
    if (bound === undefined) return;
    const operator = mirrored ? MIRRORED[expression.name]! : expression.name;
    // A DateTime has whole seconds; a point is within one of them.
    if (operator !== "<" && operator !== "<=") range.from = Math.max(range.from, Math.floor(bound) * 1000);
    if (operator !== ">" && operator !== ">=") range.to = Math.min(range.to, Math.floor(bound) * 1000 + 999);
  };
  if (where !== undefined) narrow(where);
  return range;
}

const isTimestamp = (expression: Expression) => expression.kind === "name" && expression.name === "timestamp";

/** The value in seconds, if it is the same for all points. */
function boundOf(expression: Expression | undefined, context: Context): number | undefined {
  if (expression === undefined) return undefined;
  const { constant, of } = compile(expression, context);
  if (!constant) return undefined;
  const value = of(NO_SCOPE);
  return typeof value === "string" ? secondsOf(value) : value;
}
