import type { Expression } from "./ast.ts";
import { compile, type CompileContext } from "./compile.ts";
import { NO_SCOPE, parseDateTime } from "./values.ts";

/** A time range in epoch milliseconds, both ends inclusive. */
export interface TimeRange {
  from: number;
  to: number;
}

const MIRRORED_OPERATORS: Record<string, string> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=" };

/**
 * Returns a time range that contains all points that can match a condition, from comparisons of `timestamp` combined
 * with AND. The condition is still evaluated for each point.
 */
export function timeRangeOf(where: Expression | undefined, context: CompileContext): TimeRange {
  const range: TimeRange = { from: 0, to: Number.MAX_SAFE_INTEGER };
  const narrow = (expression: Expression): void => {
    if (expression.kind !== "call") return;
    const [left, right] = expression.args as [Expression, Expression];
    if (expression.name === "and") {
      narrow(left);
      narrow(right);
    }
    if (!Object.hasOwn(MIRRORED_OPERATORS, expression.name)) return;
    const isMirrored = isTimestamp(right);
    const bound = boundOf(isMirrored ? left : isTimestamp(left) ? right : undefined, context);
    if (bound === undefined) return;
    const operator = isMirrored ? MIRRORED_OPERATORS[expression.name]! : expression.name;
    // A DateTime is a whole second, which contains points of 1000 different milliseconds.
    if (operator !== "<" && operator !== "<=") range.from = Math.max(range.from, Math.floor(bound) * 1000);
    if (operator !== ">" && operator !== ">=") range.to = Math.min(range.to, Math.floor(bound) * 1000 + 999);
  };
  if (where !== undefined) narrow(where);
  return range;
}

const isTimestamp = (expression: Expression) => expression.kind === "name" && expression.name === "timestamp";

/** Returns the value in seconds if it is constant. */
function boundOf(expression: Expression | undefined, context: CompileContext): number | undefined {
  if (expression === undefined) return undefined;
  const { isConstant: isConstantBound, evaluate: evaluateBound } = compile(expression, context);
  if (!isConstantBound) return undefined;
  const value = evaluateBound(NO_SCOPE);
  return typeof value === "string" ? parseDateTime(value) : value;
}
