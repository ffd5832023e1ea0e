import type { AnalyticsLimits } from "../limits.ts";
import { analyticsErrors } from "../errors.ts";
import type { StoredPoint } from "../points-table.ts";
import { keyOf, type Column, type Select } from "./ast.ts";
import { formatMiB, valueBytes, type QueryBudget } from "./budget.ts";
import { COLUMNS, compile, hasAggregate, type CompileContext, type Groups } from "./compile.ts";
import { checkExpandedSize } from "./expanded-size.ts";
import { timeRangeOf, type TimeRange } from "./time-range.ts";
import {
  compare,
  queryError,
  type CompiledExpression,
  type EvaluationScope,
  type Type,
  type SqlValue,
} from "./values.ts";

export interface Result {
  columns: { name: string; type: Type }[];
  rows: SqlValue[][];
}

interface SelectOptions {
  /** Returns all points in a time range in pages, oldest first. */
  points(dataset: string, range: TimeRange): AsyncIterable<StoredPoint[]>;
  /** Time of the query in epoch milliseconds. */
  now: number;
  limits: Pick<AnalyticsLimits, "rows" | "values" | "memoryBytes">;
  budget: QueryBudget;
}

/** Approximate memory of a row without its values. */
const ROW_BYTES = 200;

/** A result row and the values by which it is sorted. */
interface Sortable {
  row: SqlValue[];
  sortKey: SqlValue[];
}

/** Runs a query. Throws invalidQuery before it reads points, and errors of resource limits while it reads. */
export async function runSelect(select: Select, { points, now, limits, budget }: SelectOptions): Promise<Result> {
  const columns = select.columns.flatMap((column) => (column === "*" ? starColumns(select) : [column]));
  const aliases = new Map(
    columns.flatMap(({ alias, expression }) => (alias === undefined ? [] : [[alias, expression]])),
  );
  let storedValues = 0;
  const context: CompileContext = {
    aliases,
    hasPoint: select.from !== undefined,
    now: Math.floor(now / 1000),
    countStoredValue(value) {
      if (++storedValues > limits.values) throw analyticsErrors.tooMuchMemory({ limit: `${limits.values} values` });
      budget.keep(valueBytes(value));
    },
    budget,
  };
  const clauses = [select.where, select.having].filter((clause) => clause !== undefined);
  const selectedExpressions = columns.map(({ expression }) => expression);
  checkExpandedSize(
    [...selectedExpressions, ...clauses, ...select.groupBy, ...select.orderBy.map(({ expression }) => expression)],
    aliases,
  );
  const where = select.where && compile(select.where, context);
  const keys = select.groupBy.map((expression) => compile(expression, context));
  const outputs = [...selectedExpressions, ...select.orderBy.map(({ expression }) => expression)];
  const isGrouped =
    keys.length > 0 || select.having !== undefined || outputs.some((expression) => hasAggregate(expression, aliases));
  const groups: Groups | undefined = isGrouped ? groupsOf(select, keys, context) : undefined;
  const outerContext: CompileContext = groups === undefined ? context : { ...context, groups };
  const having = select.having && compile(select.having, outerContext);
  const outputColumns = columns.map(({ expression }) => compile(expression, outerContext));
  const order = select.orderBy.map(({ expression }) => compile(expression, outerContext));
  const range = timeRangeOf(select.where, context);

  const matchingBatches = scopesOf(select.from, range, points, where, budget);
  const rowsNeeded = select.limit === undefined ? Infinity : select.limit + select.offset;
  const rows = createRows(select, rowsNeeded, limits);
  const emit = (scope: EvaluationScope) =>
    rows.add({
      row: outputColumns.map((column) => column.evaluate(scope)),
      sortKey: order.map((expression) => expression.evaluate(scope)),
    });
  if (groups === undefined) {
    for await (const batch of matchingBatches) {
      for (const scope of batch) {
        await budget.pause();
        emit(scope);
      }
      if (order.length === 0 && rows.count() >= rowsNeeded) break;
    }
  } else {
    for await (const scope of collectGroups(matchingBatches, keys, groups, { maxGroups: limits.rows, budget }))
      if (having === undefined || having.evaluate(scope)) emit(scope);
  }
  return {
    columns: columns.map(({ name }, i) => ({ name, type: outputColumns[i]!.type })),
    rows: rows.sorted().slice(select.offset, rowsNeeded),
  };
}

function starColumns({ from }: Select): Column[] {
  if (from === undefined) throw queryError("SELECT * needs FROM");
  return COLUMNS.map((name) => ({ name, alias: undefined, expression: { kind: "name", name } }));
}

/** Registers an alias in GROUP BY under its name and its expression, so that both can be selected. */
function groupsOf({ groupBy }: Select, keys: CompiledExpression[], { aliases }: CompileContext): Groups {
  const byKey = new Map<string, { index: number; type: Type }>();
  for (const [index, expression] of groupBy.entries()) {
    const { type } = keys[index]!;
    byKey.set(keyOf(expression), { index, type });
    const alias = expression.kind === "name" ? aliases.get(expression.name) : undefined;
    if (alias !== undefined) byKey.set(keyOf(alias), { index, type });
  }
  return { keys: byKey, aggregates: [] };
}

async function* scopesOf(
  dataset: string | undefined,
  range: TimeRange,
  points: SelectOptions["points"],
  where: CompiledExpression | undefined,
  budget: QueryBudget,
): AsyncIterable<EvaluationScope[]> {
  const pointPages = dataset === undefined ? [[undefined]] : points(dataset, range);
  for await (const page of pointPages) {
    const matchingScopes: EvaluationScope[] = [];
    for (const point of page) {
      await budget.pause();
      const scope: EvaluationScope = { point, dataset: dataset ?? "", keys: [], aggregates: [] };
      if (where === undefined || where.evaluate(scope)) matchingScopes.push(scope);
    }
    yield matchingScopes;
  }
}

/** Approximate memory of a group, and of one of its aggregates. */
const GROUP_BYTES = 200;
const AGGREGATE_BYTES = 100;

async function* collectGroups(
  batches: AsyncIterable<EvaluationScope[]>,
  keys: CompiledExpression[],
  { aggregates }: Groups,
  { maxGroups, budget }: { maxGroups: number; budget: QueryBudget },
): AsyncIterable<EvaluationScope> {
  const create = () => {
    budget.keep(GROUP_BYTES + AGGREGATE_BYTES * aggregates.length);
    return aggregates.map(({ aggregate }) => aggregate.create());
  };
  const groups = new Map<string, { keys: SqlValue[]; accumulators: ReturnType<typeof create> }>();
  // Without GROUP BY there is one group, even if no points match.
  if (keys.length === 0) groups.set("[]", { keys: [], accumulators: create() });
  for await (const batch of batches)
    for (const scope of batch) {
      await budget.pause();
      const values = keys.map((key) => key.evaluate(scope));
      const name = JSON.stringify(values);
      let group = groups.get(name);
      if (group === undefined) {
        if (groups.size >= maxGroups) throw analyticsErrors.tooMuchMemory({ limit: `${maxGroups} groups` });
        budget.keep(2 * name.length + values.reduce((sum: number, value) => sum + valueBytes(value), 0));
        groups.set(name, (group = { keys: values, accumulators: create() }));
      }
      for (const { add } of group.accumulators) add(scope);
    }
  for (const group of groups.values()) {
    await budget.pause();
    yield {
      point: undefined,
      dataset: "",
      keys: group.keys,
      aggregates: group.accumulators.map(({ value }) => value()),
    };
  }
}

/**
 * Collects the rows of a result up to a maximum, or the first rows of a query with LIMIT. Throws resultTooLarge,
 * tooMuchMemory.
 */
function createRows({ orderBy }: Select, rowsNeeded: number, { rows: maxRows, memoryBytes }: SelectOptions["limits"]) {
  let rows: Sortable[] = [];
  let bytes = 0;
  const sort = () => {
    if (orderBy.length === 0) return rows;
    const signs = orderBy.map(({ descending }) => (descending ? -1 : 1));
    return rows.sort((a, b) => {
      for (const [i, sign] of signs.entries()) {
        const order = compare(a.sortKey[i]!, b.sortKey[i]!);
        if (order !== 0) return order * sign;
      }
      return 0;
    });
  };
  return {
    count: () => rows.length,
    add(row: Sortable) {
      rows.push(row);
      bytes += rowBytes(row);
      if (rows.length <= maxRows && bytes <= memoryBytes) return;
      if (rows.length > maxRows && rowsNeeded > maxRows / 2)
        throw analyticsErrors.resultTooLarge({ limit: `${maxRows} rows` });
      rows = sort().slice(0, rowsNeeded);
      bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
      // Half, so that the rows are not sorted again after each point.
      if (bytes > memoryBytes / 2) throw analyticsErrors.tooMuchMemory({ limit: formatMiB(memoryBytes) });
    },
    sorted: () => sort().map(({ row }) => row),
  };
}

const rowBytes = ({ row, sortKey }: Sortable) =>
  ROW_BYTES + [...row, ...sortKey].reduce<number>((sum, value) => sum + valueBytes(value), 0);
