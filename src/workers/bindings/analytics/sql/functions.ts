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
  type SqlValue,
} from "./values.ts";

/** Checks the argument types of an operator or scalar function and returns the compiled call. */
type FunctionCompiler = (args: CompiledExpression[], name: string) => CompiledExpression;

/** Compiles a call whose value depends only on its arguments. A call with constant arguments is constant. */
const createPure = (
  type: Type,
  args: CompiledExpression[],
  apply: (...values: SqlValue[]) => SqlValue,
): CompiledExpression => {
  const evaluateArgs: CompiledExpression["evaluate"] = (scope) => apply(...args.map((arg) => arg.evaluate(scope)));
  if (!args.every(({ isConstant: constant }) => constant)) return { type, isConstant: false, evaluate: evaluateArgs };
  const value = evaluateArgs(NO_SCOPE);
  return { type, isConstant: true, evaluate: () => value };
};

const combinedTypeError = (name: string, [a, b]: CompiledExpression[]) =>
  queryError(`cannot combine the ${a!.type} and ${b!.type} types with the ${name} operator`);

const createArithmetic =
  (apply: (a: number, b: number) => number, integer: Type | undefined): FunctionCompiler =>
  (args, name) => {
    const [a, b] = args as [CompiledExpression, CompiledExpression];
    const hasDates = a.type === "DateTime" || b.type === "DateTime";
    if (a.type === "String" || b.type === "String" || (hasDates && name !== "-" && name !== "+"))
      throw combinedTypeError(name, args);
    const type = hasDates
      ? a.type === b.type
        ? "Int64"
        : "DateTime"
      : integer !== undefined && isInteger(a.type) && isInteger(b.type)
        ? integer
        : "Float64";
    return createPure(type, args, (x, y) => apply(x as number, y as number));
  };

const createComparison =
  (holds: (order: number) => boolean): FunctionCompiler =>
  (args, name) =>
    createPure("UInt8", unifyTypes(args, name), (a, b) => Number(holds(compare(a!, b!))));

/** Parses strings as dates if they are compared with a DateTime. Throws if the types cannot be compared. */
function unifyTypes(args: CompiledExpression[], name: string): CompiledExpression[] {
  const hasDates = args.some(({ type }) => type === "DateTime");
  const convertedArgs = hasDates ? args.map((arg) => (arg.type === "String" ? toDateTime(arg) : arg)) : args;
  if (convertedArgs.some(({ type }) => type === "String") && convertedArgs.some(({ type }) => type !== "String"))
    throw combinedTypeError(name, [
      convertedArgs[0]!,
      convertedArgs.find(({ type }) => (type === "String") !== (convertedArgs[0]!.type === "String"))!,
    ]);
  return convertedArgs;
}

const toDateTime = (arg: CompiledExpression): CompiledExpression =>
  createPure("DateTime", [arg], (value) => (typeof value === "string" ? parseDateTime(value) : Math.floor(value)));

const withArguments =
  (
    count: number | [least: number, most: number],
    isAccepted: (type: Type) => boolean,
    expected: string,
    make: FunctionCompiler,
  ): FunctionCompiler =>
  (args, name) => {
    const [minArgs, maxArgs] = typeof count === "number" ? [count, count] : count;
    if (args.length < minArgs || args.length > maxArgs)
      throw queryError(
        `${name}() takes ${minArgs === maxArgs ? minArgs : `${minArgs} to ${maxArgs}`} arguments, not ${args.length}`,
      );
    const wrongArg = args.find(({ type }) => !isAccepted(type));
    if (wrongArg !== undefined) throw queryError(`${name}() takes ${expected}, not ${wrongArg.type}`);
    return make(args, name);
  };

const acceptAny = () => true;
const isText = (type: Type) => type === "String";
const isTime = (type: Type) => type === "DateTime";
const numbers = (count: number, type: Type, apply: (...values: number[]) => number) =>
  withArguments(count, isNumeric, "numbers", (args) =>
    createPure(type, args, apply as (...values: SqlValue[]) => SqlValue),
  );
const stringFunction = (count: number, type: Type, apply: (...values: string[]) => SqlValue) =>
  withArguments(count, isText, "strings", (args) =>
    createPure(type, args, apply as (...values: SqlValue[]) => SqlValue),
  );
const timeFunction = (type: Type, apply: (date: Date, seconds: number) => number) =>
  withArguments(1, isTime, "a DateTime", (args) =>
    createPure(type, args, (at) => apply(new Date((at as number) * 1000), at as number)),
  );
const startOf = (seconds: number) => timeFunction("DateTime", (_, at) => at - (at % seconds));
const compileCondition = withArguments(2, isNumeric, "conditions", (args, name) => compileLogic(args, name));
const compileLogic: FunctionCompiler = (args, name) =>
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
  "+": createArithmetic((a, b) => a + b, "UInt64"),
  "-": createArithmetic((a, b) => a - b, "Int64"),
  "*": createArithmetic((a, b) => a * b, "UInt64"),
  "/": createArithmetic((a, b) => a / b, undefined),
  "%": createArithmetic((a, b) => a % b, "UInt64"),
  "=": createComparison((order) => order === 0),
  "!=": createComparison((order) => order !== 0),
  "<": createComparison((order) => order < 0),
  "<=": createComparison((order) => order <= 0),
  ">": createComparison((order) => order > 0),
  ">=": createComparison((order) => order >= 0),
  "||": stringFunction(2, "String", (a, b) => {
    if (a!.length + b!.length > MAX_STRING_LENGTH)
      throw queryError(`a string of the || operator is longer than ${MAX_STRING_LENGTH} characters`);
    return a! + b!;
  }),
  and: compileCondition,
  or: compileCondition,
  not: numbers(1, "UInt8", (value) => Number(value === 0)),
  in: (args, name) =>
    createPure("UInt8", unifyTypes(args, name), (value, ...values) => Number(values.includes(value!))),
  like: stringFunction(2, "UInt8", (text, pattern) => Number(isLike(text!, pattern!))),
  if: withArguments(3, acceptAny, "values", ([conditionArg, thenArg, elseArg]) => {
    const [a, b] = unifyTypes([thenArg!, elseArg!], "if") as [CompiledExpression, CompiledExpression];
    const type = a.type === b.type ? a.type : isNumeric(a.type) ? "Float64" : a.type;
    const constant = conditionArg!.isConstant && a.isConstant && b.isConstant;
    return {
      type,
      isConstant: constant,
      evaluate: (scope) => (conditionArg!.evaluate(scope) ? a.evaluate(scope) : b.evaluate(scope)),
    };
  }),
  intdiv: numbers(2, "Int64", (a, b) => Math.trunc(a! / b!)),
  round: withArguments([1, 2], isNumeric, "numbers", (args) =>
    createPure("Float64", args, (value, digits = 0) => roundTo(value as number, digits as number)),
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
  substring: withArguments([2, 3], acceptAny, "a string and numbers", ([text, ...range], name) => {
    if (text!.type !== "String" || range.some(({ type }) => !isNumeric(type)))
      throw queryError(`${name}() takes a string and numbers`);
    return createPure("String", [text!, ...range], (value, from, count = Infinity) =>
      (value as string).slice(Math.max(0, Number(from) - 1), Math.max(0, Number(from) - 1) + Number(count)),
    );
  }),
  tostring: withArguments(1, acceptAny, "a value", (args) => createPure("String", args, String)),
  touint32: withArguments(1, acceptAny, "a value", (args) =>
    createPure("UInt32", args, (value) => Math.trunc(Number(value)) >>> 0),
  ),
  todatetime: withArguments(1, acceptAny, "a date", ([arg]) => toDateTime(arg!)),
  tounixtimestamp: withArguments(1, acceptAny, "a date", ([arg]) => ({ ...toDateTime(arg!), type: "UInt32" })),
  tostartofminute: startOf(60),
  tostartoffiveminutes: startOf(300),
  tostartoftenminutes: startOf(600),
  tostartoffifteenminutes: startOf(900),
  tostartofhour: startOf(3600),
  tostartofday: startOf(86_400),
  tostartofmonth: timeFunction("DateTime", (date) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1000),
  tostartofyear: timeFunction("DateTime", (date) => Date.UTC(date.getUTCFullYear(), 0) / 1000),
  toyear: timeFunction("UInt32", (date) => date.getUTCFullYear()),
  tomonth: timeFunction("UInt8", (date) => date.getUTCMonth() + 1),
  todayofmonth: timeFunction("UInt8", (date) => date.getUTCDate()),
  todayofweek: timeFunction("UInt8", (date) => date.getUTCDay() || 7),
  tohour: timeFunction("UInt8", (date) => date.getUTCHours()),
  tominute: timeFunction("UInt8", (date) => date.getUTCMinutes()),
  tosecond: timeFunction("UInt8", (date) => date.getUTCSeconds()),
};

/** Adds an interval to a time, or subtracts it if `sign` is -1. */
export function addInterval(
  time: CompiledExpression,
  sign: 1 | -1,
  { seconds, months }: { seconds: number; months: number },
): CompiledExpression {
  if (time.type !== "DateTime") throw queryError(`cannot add an INTERVAL to the ${time.type} type`);
  return createPure("DateTime", [time], (at) =>
    months === 0 ? (at as number) + sign * seconds : addMonths(at as number, sign * months),
  );
}

/** Maximum number of steps of a LIKE, whose time is the product of the lengths of its pattern and its text. */
const MAX_LIKE_STEPS = 10_000_000;

const roundTo = (value: number, digits: number) => {
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
    const isEscaped = pattern[p] === "\\" && p + 1 < pattern.length;
    const char = isEscaped ? pattern[p + 1] : pattern[p];
    if (!isEscaped && char === "%") retry = { p: ++p, at };
    else if (p < pattern.length && ((!isEscaped && char === "_") || char === text[at])) {
      p += isEscaped ? 2 : 1;
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
