import { analyticsErrors } from "../errors.ts";
import type { Expression } from "./ast.ts";
import type { TokenReader } from "./reader.ts";

const createCall = (name: string, ...args: Expression[]): Expression => ({ kind: "call", name, args });

/** Parses an expression. Operators by increasing precedence: OR, AND, NOT, comparison, + - ||, * / %, unary minus. */
export const parseExpression = (reader: TokenReader): Expression => reader.nested(() => parseOr(reader));

function parseOr(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  while (reader.take("or")) left = createCall("or", left, parseAnd(reader));
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  while (reader.take("and")) left = createCall("and", left, parseNot(reader));
  return left;
}

function parseNot(reader: TokenReader): Expression {
  return reader.take("not")
    ? createCall(
        "not",
        reader.nested(() => parseNot(reader)),
      )
    : parseComparison(reader);
}

function parseComparison(reader: TokenReader): Expression {
  const left = parseSum(reader);
  const symbol = reader.takeAny(["<=", ">=", "<>", "!=", "=", "<", ">"]);
  if (symbol !== undefined) return createCall(symbol === "<>" ? "!=" : symbol, left, parseSum(reader));
  const isNegated = reader.take("not");
  const wordOperator = parseWordOperator(left, reader);
  if (wordOperator === undefined && isNegated) throw reader.unexpected("IN, BETWEEN or LIKE after NOT");
  return wordOperator === undefined ? left : isNegated ? createCall("not", wordOperator) : wordOperator;
}

function parseWordOperator(left: Expression, reader: TokenReader): Expression | undefined {
  if (reader.take("in")) {
    reader.expectSymbol("(");
    if (reader.peek("select")) throw analyticsErrors.invalidQuery({ reason: "subqueries are not supported" });
    const values = reader.list(() => parseExpression(reader));
    reader.expectSymbol(")");
    return createCall("in", left, ...values);
  }
  if (reader.take("between")) {
    const lowerBound = parseSum(reader);
    if (!reader.take("and")) throw reader.unexpected("AND after BETWEEN");
    return createCall("and", createCall(">=", left, lowerBound), createCall("<=", left, parseSum(reader)));
  }
  if (reader.take("like")) return createCall("like", left, parseSum(reader));
  if (reader.take("ilike"))
    return createCall("like", createCall("tolower", left), createCall("tolower", parseSum(reader)));
  return undefined;
}

function parseSum(reader: TokenReader): Expression {
  let left = parseProduct(reader);
  for (;;) {
    const symbol = reader.takeAny(["+", "-", "||"]);
    if (symbol === undefined) return left;
    left = createCall(symbol, left, parseProduct(reader));
  }
}

function parseProduct(reader: TokenReader): Expression {
  let left = parseUnary(reader);
  for (;;) {
    const symbol = reader.takeAny(["*", "/", "%"]);
    if (symbol === undefined) return left;
    left = createCall(symbol, left, parseUnary(reader));
  }
}

function parseUnary(reader: TokenReader): Expression {
  if (!reader.takeSymbol("-")) return parsePrimary(reader);
  const operand = reader.nested(() => parseUnary(reader));
  return operand.kind === "literal" && typeof operand.value === "number"
    ? { kind: "literal", value: -operand.value }
    : createCall("-", { kind: "literal", value: 0 }, operand);
}

function parsePrimary(reader: TokenReader): Expression {
  if (reader.takeSymbol("(")) {
    if (reader.peek("select")) throw analyticsErrors.invalidQuery({ reason: "subqueries are not supported" });
    const innerExpression = parseExpression(reader);
    reader.expectSymbol(")");
    return innerExpression;
  }
  if (reader.peek("case")) throw analyticsErrors.invalidQuery({ reason: "CASE is not supported; use if()" });
  if (reader.take("interval")) return parseInterval(reader);
  if (reader.take("true")) return { kind: "literal", value: 1 };
  if (reader.take("false")) return { kind: "literal", value: 0 };
  const error = reader.unexpected("an expression");
  const { kind, text } = reader.next();
  if (kind === "number") return { kind: "literal", value: Number(text) };
  if (kind === "string") return { kind: "literal", value: text };
  if (kind !== "name") throw error;
  return reader.takeSymbol("(") ? parseCall(text.toLowerCase(), reader) : { kind: "name", name: text };
}

/**
 * Parses a call after its opening parenthesis. Appends the second argument list of `quantileExactWeighted(q)(x, w)`.
 */
function parseCall(name: string, reader: TokenReader): Expression {
  if (reader.takeSymbol(")")) return createCall(name);
  // `count(*)` is the same as `count()`.
  if (reader.takeSymbol("*")) {
    reader.expectSymbol(")");
    return createCall(name);
  }
  const isDistinct = reader.take("distinct");
  const args = reader.list(() => parseExpression(reader));
  reader.expectSymbol(")");
  if (reader.takeSymbol("(")) {
    args.push(...reader.list(() => parseExpression(reader)));
    reader.expectSymbol(")");
  }
  return { kind: "call", name, args, ...(isDistinct && { distinct: true }) };
}

const UNITS: Record<string, { seconds?: number; months?: number }> = {
  second: { seconds: 1 },
  minute: { seconds: 60 },
  hour: { seconds: 3600 },
  day: { seconds: 86_400 },
  week: { seconds: 604_800 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { months: 12 },
};

/** Parses the rest of `INTERVAL '1' DAY` or `INTERVAL 1 DAY`. */
function parseInterval(reader: TokenReader): Expression {
  const error = reader.unexpected("a whole number after INTERVAL");
  const { kind, text } = reader.next();
  if ((kind !== "string" && kind !== "number") || !/^\s*\d{1,9}\s*$/.test(text)) throw error;
  const unitError = reader.unexpected(`an interval unit (${Object.keys(UNITS).join(", ").toUpperCase()})`);
  const unit = UNITS[reader.name("an interval unit").toLowerCase().replace(/s$/, "")];
  if (unit === undefined) throw unitError;
  const count = Number(text);
  return { kind: "interval", seconds: count * (unit.seconds ?? 0), months: count * (unit.months ?? 0) };
}
