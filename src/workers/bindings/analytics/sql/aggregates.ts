import { compare, invalid, isNumeric, NO_SCOPE, type Compiled, type Scope, type Type, type Value } from "./values.ts";

/** An aggregate of a query. Each group has its own accumulator. */
export interface Aggregate {
  type: Type;
  create(): Accumulator;
}

interface Accumulator {
  add(scope: Scope): void;
  value(): Value;
}

/** Called before an aggregate stores another value. Throws if the query stores too many. */
type Keep = () => void;

type Make = (args: Compiled[], options: { name: string; distinct: boolean; keep: Keep }) => Aggregate;

const number = (arg: Compiled, scope: Scope) => arg.of(scope) as number;

const sumOf = ([x]: Compiled[]): Aggregate => ({
  type: x!.type === "Float64" ? "Float64" : x!.type === "Int64" ? "Int64" : "UInt64",
  create() {
    let sum = 0;
    return { add: (scope) => void (sum += number(x!, scope)), value: () => sum };
  },
});

const avgOf = ([x]: Compiled[]): Aggregate => ({
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

const distinctOf = (x: Compiled, keep: Keep): Aggregate => ({
  type: "UInt64",
  create() {
    const seen = new Set<Value>();
    return {
      add(scope) {
        const value = x.of(scope);
        if (seen.has(value)) return;
        keep();
        seen.add(value);
      },
      value: () => seen.size,
    };
  },
});

const extreme = (sign: 1 | -1): Make =>
  takes(
    1,
    () => true,
    ([x]) => ({
      type: x!.type,
      create() {
        let found: Value | undefined;
        return {
          add(scope) {
            const value = x!.of(scope);
            if (found === undefined || compare(value, found) * sign > 0) found = value;
          },
          value: () => found ?? (x!.type === "String" ? "" : 0),
        };
      },
    }),
  );

/** Aggregates only the points for which the last argument is true. */
const conditional =
  (make: Make): Make =>
  (args, options) => {
    const condition = args.at(-1);
    if (condition === undefined || !isNumeric(condition.type))
      throw invalid(`the last argument of ${options.name}() must be a condition`);
    const { type, create } = make(args.slice(0, -1), options);
    return {
      type,
      create() {
        const { add, value } = create();
        return { add: (scope) => void (condition.of(scope) && add(scope)), value };
      },
    };
  };

function takes(most: number, types: (type: Type) => boolean, make: Make, least = most): Make {
  return (args, options) => {
    if (args.length < least || args.length > most)
      throw invalid(`${options.name}() takes ${most} argument${most === 1 ? "" : "s"}, not ${args.length}`);
    const wrong = args.find(({ type }) => !types(type));
    if (wrong !== undefined) throw invalid(`${options.name}() takes numbers, not ${wrong.type}`);
    return make(args, options);
  };
}

/** Returns the smallest value at which the cumulative weight reaches the level. */
const quantile = takes(3, isNumeric, ([level, x, weight], { name, keep }) => {
  const wanted = level!.constant ? (level!.of(NO_SCOPE) as number) : NaN;
  if (!(wanted >= 0 && wanted <= 1)) throw invalid(`the level of ${name}() must be a constant from 0 to 1`);
  return {
    type: "Float64",
    create() {
      const weights = new Map<number, number>();
      return {
        add(scope) {
          const value = number(x!, scope);
          const known = weights.get(value);
          if (known === undefined) keep();
          weights.set(value, (known ?? 0) + number(weight!, scope));
        },
        value() {
          const sorted = [...weights].sort(([a], [b]) => a - b);
          let left = wanted * sorted.reduce((sum, [, each]) => sum + each, 0);
          for (const [value, each] of sorted) if ((left -= each) <= 0) return value;
          return sorted.at(-1)?.[0] ?? NaN;
        },
      };
    },
  };
});

const counted: Make = takes(
  1,
  () => true,
  ([x], { distinct, keep }) => (distinct ? distinctOf(x!, keep) : count),
  0,
);

export const AGGREGATES: Record<string, Make> = {
  count: counted,
  sum: takes(1, isNumeric, sumOf),
  avg: takes(1, isNumeric, avgOf),
  min: extreme(-1),
  max: extreme(1),
  countif: conditional(counted),
  sumif: conditional(takes(1, isNumeric, sumOf)),
  avgif: conditional(takes(1, isNumeric, avgOf)),
  quantileweighted: quantile,
  quantileexactweighted: quantile,
};
