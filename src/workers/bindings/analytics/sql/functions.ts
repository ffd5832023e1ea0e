import { MAX_STRING_LENGTH } from "../limits.ts";
import {
  addMonths,
  compare,
  queryError,
  isInteger,
  isNumeric,
  NO_SCOPE,
  parseDateTime,
  type CompiledExpression,
  type Type,
  type Value,
} from "./values.ts";

/** Checks the argument types of an operator or scalar function and returns the compiled call. */
type FunctionCompiler = (args: CompiledExpression[], name: string) => CompiledExpression;

/** Compiles a call whose value depends only on its arguments. A call with constant arguments is constant. */
const pure = (type: Type, args: CompiledExpression[], apply: (...values: Value[]) => Value): CompiledExpression => {
  const of: CompiledExpression["evaluate"] = (scope) => apply(...args.map((arg) => arg.evaluate(scope)));
  if (!args.every(({ isConstant: constant }) => constant)) return { type, isConstant: false, evaluate: of };
  const value = of(NO_SCOPE);
  return { type, isConstant: true, evaluate: () => value };
};

const combined = (name: string, [a, b]: CompiledExpression[]) =>
  queryError(`cannot combine the ${a!.type} and ${b!.type} types with the ${name} operator`);

const arithmetic =
  (apply: (a: number, b: number) => number, integer: Type | undefined): FunctionCompiler =>
  (args, name) => {
    const [a, b] = args as [CompiledExpression, CompiledExpression];
    const dates = a.type === "DateTime" || b.type === "DateTime";
    if (a.type === "String" || b.type === "String" || (dates && name !== "-" && name !== "+"))
      throw combined(name, args);
    const type = dates
      ? a.type === b.type
        ? "Int64"
        : "DateTime"
      : integer !== undefined && isInteger(a.type) && isInteger(b.type)
        ? integer
        : "Float64";
    return pure(type, args, (x, y) => apply(x as number, y as number));
  };

const comparison =
  (holds: (order: number) => boolean): FunctionCompiler =>
  (args, name) =>
    pure("UInt8", unifyTypes(args, name), (a, b) => Number(holds(compare(a!, b!))));

/** Parses strings as dates if they are compared with a DateTime. Throws if the types cannot be compared. */
function unifyTypes(args: CompiledExpression[], name: string): CompiledExpression[] {
  const dates = args.some(({ type }) => type === "DateTime");
  const made = dates ? args.map((arg) => (arg.type === "String" ? toDateTime(arg) : arg)) : args;
  if (made.some(({ type }) => type === "String") && made.some(({ type }) => type !== "String"))
    throw combined(name, [made[0]!, made.find(({ type }) => (type === "String") !== (made[0]!.type === "String"))!]);
  return made;
}

const toDateTime = (arg: CompiledExpression): CompiledExpression =>
  pure("DateTime", [arg], (value) => (typeof value === "string" ? parseDateTime(value) : Math.floor(value)));

const withArguments =
  (
    count: number | [least: number, most: number],
    types: (type: Type) => boolean,
    expected: string,
    make: FunctionCompiler,
  ): FunctionCompiler =>
  (args, name) => {
    const [least, most] = typeof count === "number" ? [count, count] : count;
    if (args.length < least || args.length > most)
      throw queryError(
        `${name}() takes ${least === most ? least : `${least} to ${most}`} arguments, not ${args.length}`,
      );
    const wrong = args.find(({ type }) => !types(type));
    if (wrong !== undefined) throw queryError(`${name}() takes ${expected}, not ${wrong.type}`);
    return make(args, name);
  };

const any = () => true;
const isText = (type: Type) => type === "String";
const isTime = (type: Type) => type === "DateTime";
const numbers = (count: number, type: Type, apply: (...values: number[]) => number) =>
  withArguments(count, isNumeric, "numbers", (args) => pure(type, args, apply as (...values: Value[]) => Value));
const stringFunction = (count: number, type: Type, apply: (...values: string[]) => Value) =>
  withArguments(count, isText, "strings", (args) => pure(type, args, apply as (...values: Value[]) => Value));
const times = (type: Type, apply: (date: Date, seconds: number) => number) =>
  withArguments(1, isTime, "a DateTime", (args) =>
    pure(type, args, (at) => apply(new Date((at as number) * 1000), at as number)),
  );
const startOf = (seconds: number) => times("DateTime", (_, at) => at - (at % seconds));
const condition = withArguments(2, isNumeric, "conditions", (args, name) => logic(args, name));
const logic: FunctionCompiler = (args, name) =>
  name === "and"
    ? {
        type: "UInt8",
        isConstant: args.every(({ isConstant: constant }) => constant),
        evaluate: (scope) => Number(Boolean(args[0]!.evaluate(scope)) && Boolean(args[1]!.evaluate(scope))),
      }
    : {
        type: "UInt8",
        isConstant: args.every(({ isConstant: constant }) => constant),
        evaluate: (scope) => Number(Boolean(args[0]!.evaluate(scope)) || Boolean(args[1]!.evaluate(scope))),
      };

export const FUNCTIONS: Record<string, FunctionCompiler> = {
  "+": arithmetic((a, b) => a + b, "UInt64"),
  "-": arithmetic((a, b) => a - b, "Int64"),
  "*": arithmetic((a, b) => a * b, "UInt64"),
  "/": arithmetic((a, b) => a / b, undefined),
  "%": arithmetic((a, b) => a % b, "UInt64"),
  "=": comparison((order) => order === 0),
  "!=": comparison((order) => order !== 0),
  "<": comparison((order) => order < 0),
  "<=": comparison((order) => order <= 0),
  ">": comparison((order) => order > 0),
  ">=": comparison((order) => order >= 0),
  "||": stringFunction(2, "String", (a, b) => {
    if (a!.length + b!.length > MAX_STRING_LENGTH)
      throw queryError(`a string of the || operator is longer than ${MAX_STRING_LENGTH} characters`);
    return a! + b!;
  }),
  and: condition,
  or: condition,
  not: numbers(1, "UInt8", (value) => Number(value === 0)),
  in: (args, name) => pure("UInt8", unifyTypes(args, name), (value, ...values) => Number(values.includes(value!))),
  like: stringFunction(2, "UInt8", (text, pattern) => Number(isLike(text!, pattern!))),
  if: withArguments(3, any, "values", ([test, yes, no]) => {
    const [a, b] = unifyTypes([yes!, no!], "if") as [CompiledExpression, CompiledExpression];
    const type = a.type === b.type ? a.type : isNumeric(a.type) ? "Float64" : a.type;
    const constant = test!.isConstant && a.isConstant && b.isConstant;
    return {
      type,
      isConstant: constant,
      evaluate: (scope) => (test!.evaluate(scope) ? a.evaluate(scope) : b.evaluate(scope)),
    };
  }),
  intdiv: numbers(2, "Int64", (a, b) => Math.trunc(a! / b!)),
  round: withArguments([1, 2], isNumeric, "numbers", (args) =>
    pure("Float64", args, (value, digits = 0) => rounded(value as number, digits as number)),
  ),
  floor: numbers(1, "Float64", Math.floor),
  ceil: numbers(1, "Float64", Math.ceil),
  pow: numbers(2, "Float64", Math.pow),
  sqrt: numbers(1, "Float64", Math.sqrt),
  log: numbers(1, "Float64", Math.log),
  length: stringFunction(1, "UInt64", (text) => Buffer.byteLength(text!)),
  empty: stringFunction(1, "UInt8", (text) => Number(text === "")),
  tolower: stringFunction(1, "String", (text) => text!.toLowerCase()),
  lower: stringFunction(1, "String", (text) => text!.toLowerCase()),
  toupper: stringFunction(1, "String", (text) => text!.toUpperCase()),
  upper: stringFunction(1, "String", (text) => text!.toUpperCase()),
  startswith: stringFunction(2, "UInt8", (text, part) => Number(text!.startsWith(part!))),
  endswith: stringFunction(2, "UInt8", (text, part) => Number(text!.endsWith(part!))),
  position: stringFunction(2, "UInt64", (text, part) => text!.indexOf(part!) + 1),
  substring: withArguments([2, 3], any, "a string and numbers", ([text, ...range], name) => {
    if (text!.type !== "String" || range.some(({ type }) => !isNumeric(type)))
      throw queryError(`${name}() takes a string and numbers`);
    return pure("String", [text!, ...range], (value, from, count = Infinity) =>
      (value as string).slice(Math.max(0, Number(from) - 1), Math.max(0, Number(from) - 1) + Number(count)),
    );
  }),
  tostring: withArguments(1, any, "a value", (args) => pure("String", args, String)),
  touint32: withArguments(1, any, "a value", (args) =>
    pure("UInt32", args, (value) => Math.trunc(Number(value)) >>> 0),
  ),
  todatetime: withArguments(1, any, "a date", ([arg]) => toDateTime(arg!)),
  tounixtimestamp: withArguments(1, any, "a date", ([arg]) => ({ ...toDateTime(arg!), type: "UInt32" })),
  tostartofminute: startOf(60),
  tostartoffiveminutes: startOf(300),
  tostartoftenminutes: startOf(600),
  tostartoffifteenminutes: startOf(900),
  tostartofhour: startOf(3600),
  tostartofday: startOf(86_400),
  tostartofmonth: times("DateTime", (date) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1000),
  tostartofyear: times("DateTime", (date) => Date.UTC(date.getUTCFullYear(), 0) / 1000),
  toyear: times("UInt32", (date) => date.getUTCFullYear()),
  tomonth: times("UInt8", (date) => date.getUTCMonth() + 1),
  todayofmonth: times("UInt8", (date) => date.getUTCDate()),
  todayofweek: times("UInt8", (date) => date.getUTCDay() || 7),
  tohour: times("UInt8", (date) => date.getUTCHours()),
  tominute: times("UInt8", (date) => date.getUTCMinutes()),
  tosecond: times("UInt8", (date) => date.getUTCSeconds()),
};

/** Adds an interval to a time, or subtracts it if `sign` is -1. */
export function addInterval(
  time: CompiledExpression,
  sign: 1 | -1,
  { seconds, months }: { seconds: number; months: number },
): CompiledExpression {
  if (time.type !== "DateTime") throw queryError(`cannot add an INTERVAL to the ${time.type} type`);
  return pure("DateTime", [time], (at) =>
    months === 0 ? (at as number) + sign * seconds : addMonths(at as number, sign * months),
  );
}

/** Bounds a LIKE with a long pattern on a long text, whose time is their product. */
const MAX_LIKE_STEPS = 10_000_000;

const rounded = (value: number, digits: number) => {
  const factor = 10 ** Math.trunc(digits);
  return Math.round(value * factor) / factor;
};

/**
 * Matches a LIKE pattern: `%` matches any text, `_` one character, and `\` escapes both. Backtracks only to the last
 * `%`.
 */
function isLike(text: string, pattern: string): boolean {
  let at = 0;
  let p = 0;
  let retry: { p: number; at: number } | undefined;
  for (let steps = 0; at < text.length; steps++) {
    if (steps > MAX_LIKE_STEPS) throw queryError("the pattern of LIKE is too long for the text");
    const escaped = pattern[p] === "\\" && p + 1 < pattern.length;
    const char = escaped ? pattern[p + 1] : pattern[p];
    if (!escaped && char === "%") retry = { p: ++p, at };
    else if (p < pattern.length && ((!escaped && char === "_") || char === text[at])) {
      p += escaped ? 2 : 1;
      at++;
    } else if (retry === undefined) return false;
    else {
      p = retry.p;
      at = ++retry.at;
    }
  }
  while (pattern[p] === "%") p++;
  return p === pattern.length;
}
