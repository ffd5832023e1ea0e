import type { Permission } from "../../../accounts/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import type { ColumnValue, RowFilter } from "../../../store/index.ts";
import { selectionOf, buildInParts, MAX_ROWS, readArguments, readOrder, withQueryErrors } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { type DatasetColumn, indexByName, renderedValue } from "./columns.ts";
import type { Dataset } from "./dataset.ts";
import type { Field } from "./fields.ts";
import { readFilter } from "./filter.ts";
import { QueryError } from "./lex.ts";

type Row = Record<string, unknown>;

/** The groups of sums that a query needs. */
interface SumsRequest<Column extends string> {
  account: string;
  /** Epoch milliseconds: start inclusive, end exclusive. */
  since: number;
  until: number;
  /** Granularity of the requested times in milliseconds; undefined if none are requested. */
  step: number | undefined;
  filter: RowFilter<Column>;
  groupBy: Column[];
  /** The requested metrics as `branch.field`, such as `sum.minutesViewed`. */
  metrics: ReadonlySet<string>;
}

interface SumsGroup<Figures> {
  /** In the order of `groupBy`. */
  values: ColumnValue[];
  figures: Figures;
}

interface SumsDataset<Column extends string, Figures> {
  permissions: Permission[];
  columns: DatasetColumn<Column>[];
  /** By branch and field: `{ sum: { minutesViewed: … } }`. `count` is a field without a branch, in the branch "". */
  metrics: Record<string, Record<string, (figures: Figures) => number | null>>;
  /** Number of days for which the metrics are kept. */
  days: number;
  clock: Pick<Clock, "now">;
  read(request: SumsRequest<Column>): Promise<SumsGroup<Figures>[]>;
}

const DAY_MS = 24 * 3_600_000;
const DAY_SECONDS = DAY_MS / 1000;

/**
 * Returns a dataset of metrics that are stored as hourly and daily sums, grouped by the requested dimensions. Without a
 * start, a query covers the whole time for which the metrics are kept.
 */
export function sumsDataset<Column extends string, Figures>({
  permissions,
  columns: columnList,
  metrics,
  days,
  clock,
  read,
}: SumsDataset<Column, Figures>): Dataset {
  const columns = indexByName(columnList);
  const branches: typeof metrics = { ...metrics, avg: { ...metrics["avg"], sampleInterval: () => 1 } };
  const metricNames = Object.entries(branches).flatMap(([branch, fields]) =>
    Object.keys(fields).map((name) => (branch === "" ? name : `${branch}_${name}`)),
  );

  const metricOf = (branch: string, name: string): ((figures: Figures) => number | null) => {
    const fields = Object.hasOwn(branches, branch) ? branches[branch]! : {};
    if (!Object.hasOwn(fields, name))
      throw new QueryError(`unknown field "${name}": ${branch} has ${Object.keys(fields).join(", ")}`);
    return fields[name]!;
  };

  function columnOf(name: string): DatasetColumn<Column> {
    const column = columns.get(name);
    if (column === undefined)
      throw new QueryError(`unknown dimension "${name}"; available: ${[...columns.keys()].join(", ")}`);
    return column;
  }

  function scalar({ name, args, fields }: Field): void {
    if (fields.length > 0 || Object.keys(args).length > 0)
      throw new QueryError(`${name} is a scalar: it has no fields and accepts no arguments`);
  }

  async function rows(account: string, args: Row, fields: Field[], budget: Budget): Promise<Row[]> {
    const { filter: filterInput, limit, orderBy } = readArguments(args);
    const { filter, since, until } = readFilter(filterInput, columns, { isSummed: true });
    const now = clock.now();
    const range = { since: Math.max(since, now - days * DAY_MS), until: Math.min(until, now + 1) };
    const dimensions: DatasetColumn<Column>[] = [];
    const requestedMetrics = new Set<string>();
    const placeOf = (name: string): number => {
      const column = columnOf(name);
      const place = dimensions.indexOf(column);
      return place === -1 ? dimensions.push(column) - 1 : place;
    };
    let width = 0;
    const builders = fields.map((field): { key: string; build(group: SumsGroup<Figures>): unknown } => {
      const { key, name } = field;
      width++;
      if (name === "dimensions") {
        const cells = selectionOf(field).map((leaf) => {
          scalar(leaf);
          width++;
          return { key: leaf.key, place: placeOf(leaf.name), column: columnOf(leaf.name) };
        });
        return {
          key,
          build: ({ values }) =>
            Object.fromEntries(cells.map((cell) => [cell.key, renderedValue(cell.column, values[cell.place]!)])),
        };
      }
      if (Object.hasOwn(branches, "") && Object.hasOwn(branches[""]!, name)) {
        scalar(field);
        const metric = metricOf("", name);
        return { key, build: ({ figures }) => metric(figures) };
      }
      if (name === "" || !Object.hasOwn(branches, name))
        throw new QueryError(
          `unknown field "${name}": groups have dimensions, ${[...Object.keys(branches[""] ?? {}), ...Object.keys(branches).filter((branch) => branch !== "")].join(", ")}`,
        );
      const cells = selectionOf(field).map((leaf) => {
        scalar(leaf);
        width++;
        requestedMetrics.add(`${name}.${leaf.name}`);
        return { key: leaf.key, metric: metricOf(name, leaf.name) };
      });
      return {
        key,
        build: ({ figures }) => Object.fromEntries(cells.map(({ key: leafKey, metric }) => [leafKey, metric(figures)])),
      };
    });
    const order = readOrder(orderBy).map(({ name: input, descending }) => {
      const name = input.replace(/^dimensions_/, "");
      const place = dimensions.findIndex((column) => column.name === name);
      if (place !== -1) return { valueOf: ({ values }: SumsGroup<Figures>) => values[place] ?? "", descending };
      const [, branch = "", field = name] = /^([a-z]+)_(\w+)$/.exec(name) ?? [];
      if (!metricNames.includes(branch === "" ? field : `${branch}_${field}`))
        throw new QueryError(
          `orderBy ${input}: use a requested dimension or one of ${metricNames.join(", ")}, with _ASC or _DESC`,
        );
      requestedMetrics.add(`${branch}.${field}`);
      const metric = metricOf(branch, field);
      return { valueOf: ({ figures }: SumsGroup<Figures>) => metric(figures) ?? 0, descending };
    });
    const groups =
      range.since >= range.until
        ? []
        : await read({
            account,
            ...range,
            step: stepOf(dimensions),
            filter,
            groupBy: dimensions.map(({ column }) => column),
            metrics: requestedMetrics,
          });
    groups.sort((a, b) => {
      for (const { valueOf, descending } of order) {
        const [x, y] = [valueOf(a), valueOf(b)];
        if (x !== y) return x < y === descending ? 1 : -1;
      }
      // Without a complete order, the groups would change places from one query to the next.
      const place = a.values.findIndex((value, i) => value !== b.values[i]);
      return place === -1 ? 0 : (a.values[place] ?? "") < (b.values[place] ?? "") ? -1 : 1;
    });
    budget.spend(Math.min(limit, groups.length), width);
    return buildInParts(groups.slice(0, limit), width, budget, (group) =>
      Object.fromEntries(builders.map(({ key, build }) => [key, build(group)])),
    );
  }

  const availableFields = [...columns.keys(), ...metricNames];
  return {
    permissions,
    settings: {
      enabled: true,
      maxDuration: days * DAY_SECONDS,
      notOlderThan: days * DAY_SECONDS,
      maxPageSize: MAX_ROWS,
      maxNumberOfFields: availableFields.length,
      availableFields,
    },
    rows: ({ account }, args, fields, budget) => withQueryErrors(() => rows(account, args, fields, budget)),
  };
}

/** Returns the finest granularity of the requested times. */
function stepOf(columns: readonly DatasetColumn<string>[]): number | undefined {
  const steps = columns.flatMap(({ type, step = 1 }) => (type === "time" || type === "date" ? [step] : []));
  return steps.length === 0 ? undefined : Math.min(...steps);
}

/** The names of times in the hosted service's datasets; `at` builds the domain's name of a granularity. */
export const timeColumns = <Column extends string>(
  exact: Column,
  at: (step: number) => Column,
): DatasetColumn<Column>[] => [
  { name: "datetime", column: exact, type: "time" },
  ...(
    [
      ["datetimeMinute", 60_000],
      ["datetimeFiveMinutes", 300_000],
      ["datetimeFifteenMinutes", 900_000],
      ["datetimeHour", 3_600_000],
      ["datetimeSixHours", 6 * 3_600_000],
    ] as const
  ).map(([name, step]): DatasetColumn<Column> => ({ name, column: at(step), type: "time", step })),
  { name: "date", column: at(DAY_MS), type: "date", step: DAY_MS },
];
