import { valueBytes } from "./budget.ts";
import {
  compare,
  queryError,
  isNumeric,
  NO_SCOPE,
  type CompiledExpression,
  type EvaluationScope,
  type Type,
  type SqlValue,
} from "./values.ts";

/** An aggregate of a query. Each group has its own accumulator. */
export interface Aggregate {
  type: Type;
  create(): Accumulator;
}

interface Accumulator {
  add(scope: EvaluationScope): void;
  value(): SqlValue;
}

/** Called before an aggregate stores another value. Throws if the query stores too many. */
type CountStoredValue = (value: SqlValue) => void;

interface AggregateOptions {
  name: string;
  distinct: boolean;
  keep: CountStoredValue;
  /** Counts the memory of the one value that an aggregate keeps. Throws if the query needs too much. */
  keepBytes(bytes: number): void;
}

type AggregateFactory = (args: CompiledExpression[], options: AggregateOptions) => Aggregate;

const number = (arg: CompiledExpression, scope: EvaluationScope) => arg.evaluate(scope) as number;

const sumOf = ([x]: CompiledExpression[]): Aggregate => ({
  type: x!.type === "Float64" ? "Float64" : x!.type === "Int64" ? "Int64" : "UInt64",
  create() {
    let sum = 0;
    return { add: (scope) => void (sum += number(x!, scope)), value: () => sum };
  },
});

const avgOf = ([x]: CompiledExpression[]): Aggregate => ({
  type: "Float64",
  create() {
    let sum = 0;
    let count = 0;
    return {
      add(scope) {
        sum += number(x!, scope);
        count++;
      },
      value: () => sum / count,
    };
  },
});

const count: Aggregate = {
  type: "UInt64",
  create() {
    let total = 0;
    return { add: () => void total++, value: () => total };
  },
};

const distinctOf = (x: CompiledExpression, countStored: CountStoredValue): Aggregate => ({
  type: "UInt64",
  create() {
    const seenValues = new Set<SqlValue>();
    return {
      add(scope) {
        const value = x.evaluate(scope);
        if (seenValues.has(value)) return;
        countStored(value);
        seenValues.add(value);
      },
      value: () => seenValues.size,
    };
  },
});

const createExtreme = (sign: 1 | -1): AggregateFactory =>
  withArguments(
    1,
    () => true,
    ([x], { keepBytes }) => ({
      type: x!.type,
      create() {
        let extremeValue: SqlValue | undefined;
        return {
          add(scope) {
            const value = x!.evaluate(scope);
            if (extremeValue !== undefined && compare(value, extremeValue) * sign <= 0) return;
            keepBytes(valueBytes(value) - (extremeValue === undefined ? 0 : valueBytes(extremeValue)));
            extremeValue = value;
          },
          value: () => extremeValue ?? (x!.type === "String" ? "" : 0),
        };
      },
    }),
  );

/** Aggregates only the points for which the last argument is true. */
const createConditional =
  (make: AggregateFactory): AggregateFactory =>
  (args, options) => {
    const condition = args.at(-1);
    if (condition === undefined || !isNumeric(condition.type))
      throw queryError(`the last argument of ${options.name}() must be a condition`);
    const { type, create } = make(args.slice(0, -1), options);
    return {
      type,
      create() {
        const { add, value } = create();
        return { add: (scope) => void (condition.evaluate(scope) && add(scope)), value };
      },
    };
  };

function withArguments(
  maxArgs: number,
  isAccepted: (type: Type) => boolean,
  make: AggregateFactory,
  minArgs = maxArgs,
): AggregateFactory {
  return (args, options) => {
    if (args.length < minArgs || args.length > maxArgs)
      throw queryError(`${options.name}() takes ${maxArgs} argument${maxArgs === 1 ? "" : "s"}, not ${args.length}`);
    const wrongArg = args.find(({ type }) => !isAccepted(type));
    if (wrongArg !== undefined) throw queryError(`${options.name}() takes numbers, not ${wrongArg.type}`);
    return make(args, options);
  };
}

/** Returns the smallest value at which the cumulative weight reaches the level. */
const createQuantile = withArguments(3, isNumeric, ([level, x, weight], { name, keep: countStored }) => {
  const quantileLevel = level!.isConstant ? (level!.evaluate(NO_SCOPE) as number) : NaN;
  if (!(quantileLevel >= 0 && quantileLevel <= 1))
    throw queryError(`the level of ${name}() must be a constant from 0 to 1`);
  return {
    type: "Float64",
    create() {
      const weights = new Map<number, number>();
      return {
        add(scope) {
          const value = number(x!, scope);
          const knownWeight = weights.get(value);
          if (knownWeight === undefined) countStored(value);
          weights.set(value, (knownWeight ?? 0) + number(weight!, scope));
        },
        value() {
          const sortedWeights = [...weights].sort(([a], [b]) => a - b);
          let remainingWeight = quantileLevel * sortedWeights.reduce((sum, [, eachWeight]) => sum + eachWeight, 0);
          for (const [value, each] of sortedWeights) if ((remainingWeight -= each) <= 0) return value;
          return sortedWeights.at(-1)?.[0] ?? NaN;
        },
      };
    },
  };
});

const createCountOrDistinct: AggregateFactory = withArguments(
  1,
  () => true,
  ([x], { distinct, keep: countStored }) => (distinct ? distinctOf(x!, countStored) : count),
  0,
);

export const AGGREGATES: Record<string, AggregateFactory> = {
  count: createCountOrDistinct,
  sum: withArguments(1, isNumeric, sumOf),
  avg: withArguments(1, isNumeric, avgOf),
  min: createExtreme(-1),
  max: createExtreme(1),
  countif: createConditional(createCountOrDistinct),
  sumif: createConditional(withArguments(1, isNumeric, sumOf)),
  avgif: createConditional(withArguments(1, isNumeric, avgOf)),
  quantileweighted: createQuantile,
  quantileexactweighted: createQuantile,
};
