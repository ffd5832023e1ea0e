import { pointLimits } from "../limits.ts";
import { AGGREGATES, type Aggregate } from "./aggregates.ts";
import { keyOf, type Expression } from "./ast.ts";
import type { QueryBudget } from "./budget.ts";
import { FUNCTIONS, addInterval } from "./functions.ts";
import {
  queryError,
  startOfInterval,
  type CompiledExpression,
  type EvaluationScope,
  type Type,
  type SqlValue,
} from "./values.ts";

/** The names in scope and the compilation mode. */
export interface CompileContext {
  aliases: ReadonlyMap<string, Expression>;
  /** False for a query without FROM. */
  hasPoint: boolean;
  /** Result of NOW(), in epoch seconds. */
  now: number;
  /** Present for expressions over groups, which may read only grouped expressions and aggregates. */
  groups?: Groups;
  /** Counts a value that an aggregate stores for DISTINCT or a quantile. */
  countStoredValue(value: SqlValue): void;
  budget: Pick<QueryBudget, "checkTime" | "keep">;
}

export interface Groups {
  /** The GROUP BY expressions by their key. */
  keys: ReadonlyMap<string, { index: number; type: Type }>;
  /** Collects the aggregates of the query. */
  aggregates: { key: string; aggregate: Aggregate }[];
}

const BLOB_PATTERN = /^blob([1-9]|1\d|20)$/;
const DOUBLE_PATTERN = /^double([1-9]|1\d|20)$/;

/** All columns of a point, in the order of `SELECT *`. */
export const COLUMNS = [
  "dataset",
  "timestamp",
  "_sample_interval",
  "index1",
  ...Array.from({ length: pointLimits.blobs }, (_, i) => `blob${i + 1}`),
  ...Array.from({ length: pointLimits.doubles }, (_, i) => `double${i + 1}`),
];

const createColumn = (type: Type, readValue: (scope: EvaluationScope) => SqlValue): CompiledExpression => ({
  type,
  isConstant: false,
  evaluate: readValue,
});
const createConstant = (type: Type, value: SqlValue): CompiledExpression => ({
  type,
  isConstant: true,
  evaluate: () => value,
});

function columnOf(name: string): CompiledExpression | undefined {
  const blob = BLOB_PATTERN.exec(name)?.[1];
  if (blob !== undefined) return createColumn("String", ({ point }) => point!.blobs[Number(blob) - 1] ?? "");
  const double = DOUBLE_PATTERN.exec(name)?.[1];
  if (double !== undefined) return createColumn("Float64", ({ point }) => point!.doubles[Number(double) - 1] ?? 0);
  if (name === "index1") return createColumn("String", ({ point }) => point!.index);
  if (name === "timestamp") return createColumn("DateTime", ({ point }) => Math.floor(point!.at / 1000));
  // Points are not sampled, so each represents only itself.
  if (name === "_sample_interval") return createColumn("UInt32", () => 1);
  if (name === "dataset") return createColumn("String", ({ dataset }) => dataset);
  return undefined;
}

/** Checks and compiles an expression. The last argument contains the aliases being expanded. Throws invalidQuery. */
export function compile(
  expression: Expression,
  context: CompileContext,
  expandedAliases: readonly string[] = [],
): CompiledExpression {
  const groupedColumn = context.groups?.keys.get(keyOf(expression));
  if (groupedColumn !== undefined) return createColumn(groupedColumn.type, ({ keys }) => keys[groupedColumn.index]!);
  switch (expression.kind) {
    case "literal":
      return createConstant(typeOf(expression.value), expression.value);
    case "interval":
      throw queryError("an INTERVAL can only be added to or subtracted from a DateTime");
    case "name":
      return compileName(expression.name, context, expandedAliases);
    case "call":
      return compileCall(expression, context, expandedAliases);
  }
}

const typeOf = (value: SqlValue): Type =>
  typeof value === "string" ? "String" : !Number.isInteger(value) ? "Float64" : value < 0 ? "Int64" : "UInt64";

function compileName(name: string, context: CompileContext, expandedAliases: readonly string[]): CompiledExpression {
  const columnExpression = columnOf(name);
  const alias = context.aliases.get(name);
  const isAlias = alias !== undefined && !expandedAliases.includes(name);
  // In a grouped query, an alias as in `max(timestamp) AS timestamp` takes precedence over the column, which cannot be
  // read.
  if (columnExpression !== undefined && context.hasPoint && !(isAlias && context.groups !== undefined)) {
    if (context.groups !== undefined) throw queryError(`the column ${name} is neither in GROUP BY nor in an aggregate`);
    return columnExpression;
  }
  if (alias === undefined) throw queryError(`cannot select unknown column: ${name.slice(0, 100)}`);
  if (!isAlias) throw queryError(`the alias ${name.slice(0, 100)} refers to itself`);
  return compile(alias, context, [...expandedAliases, name]);
}

function compileCall(
  { name, args, distinct = false }: Extract<Expression, { kind: "call" }>,
  context: CompileContext,
  expandedAliases: readonly string[],
): CompiledExpression {
  const compileArg = (arg: Expression) => compile(arg, context, expandedAliases);
  if (name === "now") return createConstant("DateTime", context.now);
  if (name === "today") return createConstant("DateTime", startOfInterval(context.now, { seconds: 86_400, months: 0 }));
  const interval = args[1]?.kind === "interval" ? args[1] : undefined;
  if ((name === "+" || name === "-") && interval)
    return addInterval(compileArg(args[0]!), name === "+" ? 1 : -1, interval);
  if (name === "tostartofinterval") {
    const firstArg = args[0] && compileArg(args[0]);
    if (args.length !== 2 || firstArg?.type !== "DateTime" || !interval || interval.seconds + interval.months === 0)
      throw queryError("toStartOfInterval() takes a DateTime and an INTERVAL that is not 0");
    return { ...firstArg, evaluate: (scope) => startOfInterval(firstArg.evaluate(scope) as number, interval) };
  }
  if (Object.hasOwn(AGGREGATES, name)) return compileAggregate({ name, args, distinct }, context, expandedAliases);
  const functionCompiler = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (functionCompiler === undefined) throw queryError(`the function ${name.slice(0, 100)}() is not supported`);
  if (distinct) throw queryError("DISTINCT is only supported in count()");
  return measured(functionCompiler(args.map(compileArg), name), context);
}

/** Checks the time before each evaluation, because one point may take thousands of operations on long strings. */
function measured(compiled: CompiledExpression, { budget }: CompileContext): CompiledExpression {
  budget.checkTime();
  if (compiled.isConstant) return compiled;
  return {
    ...compiled,
    evaluate(scope) {
      budget.checkTime();
      return compiled.evaluate(scope);
    },
  };
}

function compileAggregate(
  { name, args, distinct }: { name: string; args: Expression[]; distinct: boolean },
  context: CompileContext,
  expandedAliases: readonly string[],
): CompiledExpression {
  const { groups, ...rest } = context;
  if (groups === undefined) throw queryError(`the aggregate ${name}() is not allowed here`);
  if (distinct && name !== "count") throw queryError("DISTINCT is only supported in count()");
  const key = JSON.stringify([name, args, distinct]);
  let index = groups.aggregates.findIndex((existingAggregate) => existingAggregate.key === key);
  if (index < 0) {
    const compiled = args.map((arg) => compile(arg, rest, expandedAliases));
    const aggregate = AGGREGATES[name]!(compiled, {
      name,
      distinct,
      keep: context.countStoredValue,
      keepBytes: context.budget.keep,
    });
    index = groups.aggregates.push({ key, aggregate }) - 1;
  }
  return createColumn(groups.aggregates[index]!.aggregate.type, ({ aggregates }) => aggregates[index]!);
}

/** True if the expression contains an aggregate, directly or through an alias. */
export function hasAggregate(
  expression: Expression,
  aliases: CompileContext["aliases"],
  expandedAliases: readonly string[] = [],
): boolean {
  if (expression.kind === "call")
    return (
      Object.hasOwn(AGGREGATES, expression.name) ||
      expression.args.some((arg) => hasAggregate(arg, aliases, expandedAliases))
    );
  if (expression.kind !== "name" || expandedAliases.includes(expression.name)) return false;
  const alias = aliases.get(expression.name);
  return alias !== undefined && hasAggregate(alias, aliases, [...expandedAliases, expression.name]);
}
