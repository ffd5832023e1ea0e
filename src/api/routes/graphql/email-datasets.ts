import { setImmediate } from "node:timers/promises";
import type { Permission } from "../../../accounts/index.ts";
import { UserError } from "../../../kernel/index.ts";
import type { Activity, EntryKind } from "../../../mail/index.ts";
import type { Budget } from "./budget.ts";
import type { Dataset } from "./dataset.ts";
import { ROUTING_COLUMNS, SENDING_COLUMNS, renderedValue, type EmailColumn } from "./email-columns.ts";
import { readFilter } from "./email-filter.ts";
import type { Field } from "./fields.ts";
import { QueryError } from "./lex.ts";

interface Kind {
  kind: EntryKind;
  columns: ReadonlyMap<string, EmailColumn>;
}

type Row = Record<string, unknown>;

const MAX_ROWS = 10_000;
const MAX_ORDER_BY = 10;
const DAY_SECONDS = 24 * 3600;

/**
 * The message log in the form of the hosted service's datasets: `emailRoutingAdaptive`, `emailSendingAdaptive` and
 * their groups.
 */
export function emailDatasets({
  activity,
  days,
}: {
  activity: Pick<Activity, "count" | "first">;
  days: number;
}): Record<string, Dataset> {
  async function messages(
    { kind, columns }: Kind,
    zone: string,
    args: Row,
    fields: Field[],
    budget: Budget,
  ): Promise<Row[]> {
    const { filter, limit, orderBy } = readArguments(args);
    const leaves = fields.map((field) => ({ key: field.key, column: leafOf(field, columns) }));
    const order = readOrder(orderBy).map(({ name, descending }) => ({
      column: toComparable(columnOf(columns, name, "orderBy")),
      descending,
    }));
    const requestedColumns = leaves.flatMap(({ column }) => (column === undefined ? [] : [column.column]));
    // One extra row reveals that the result does not fit.
    const rows = await activity.first({
      zone,
      kind,
      ...readFilter(filter, columns),
      order,
      limit: Math.min(limit, budget.rows(leaves.length) + 1),
      columns: requestedColumns,
    });
    budget.spend(rows.length, leaves.length);
    return buildInParts(rows, leaves.length, budget, rowBuilder(leaves));
  }

  async function groups(
    { kind, columns }: Kind,
    zone: string,
    args: Row,
    fields: Field[],
    budget: Budget,
  ): Promise<Row[]> {
    const { filter, limit, orderBy } = readArguments(args);
    const leaves = fields
      .filter(({ name }) => name === "dimensions")
      .flatMap((branch) =>
        branchOf(branch).map((field) => ({
          branch,
          name: field.name,
          key: field.key,
          column: leafOf(field, columns, true),
        })),
      );
    const requestedColumns = leaves.flatMap(({ name, column }) => (column === undefined ? [] : [{ name, column }]));
    const order = readOrder(orderBy).map(({ name, descending }) => {
      const place = name === "count" ? -1 : requestedColumns.findIndex((column) => column.name === name);
      if (place === -1 && name !== "count")
        throw new QueryError(`orderBy ${name}: groups can be ordered only by count or by a requested dimension`);
      return { place, descending };
    });
    const countedRows = await activity.count({
      zone,
      kind,
      ...readFilter(filter, columns),
      groupBy: requestedColumns.map(({ column }) => column.column),
    });
    countedRows.sort((a, b) => {
      for (const { place, descending } of order) {
        const [x, y] = place === -1 ? [a.count, b.count] : [a.values[place] ?? "", b.values[place] ?? ""];
        if (x !== y) return x < y === descending ? 1 : -1;
      }
      return b.count - a.count;
    });
    const width = fields.length + leaves.length;
    budget.spend(Math.min(limit, countedRows.length), width);
    const builders = fields.map((field) => ({
      key: field.key,
      build: groupBuilder(
        field,
        rowBuilder(
          leaves.filter(({ branch }) => branch === field),
          leaves,
        ),
      ),
    }));
    return buildInParts(countedRows.slice(0, limit), width, budget, (group) =>
      Object.fromEntries(builders.map(({ key, build }) => [key, build(group)])),
    );
  }

  function dataset(kind: Kind, area: "Email Routing Rules" | "Email Sending", rows: typeof messages): Dataset {
    const permissions: Permission[] = ["Account Analytics Read", `${area} Read`];
    const fields = [...kind.columns.keys(), "isLastEvent"];
    return {
      permissions,
      settings: {
        enabled: true,
        maxDuration: days * DAY_SECONDS,
        notOlderThan: days * DAY_SECONDS,
        maxPageSize: MAX_ROWS,
        maxNumberOfFields: fields.length,
        availableFields: fields,
      },
      rows: ({ zone }, args, requestedFields, budget) =>
        withQueryErrors(() => rows(kind, zone!, args, requestedFields, budget)),
    };
  }

  const [routing, sending]: [Kind, Kind] = [
    { kind: "routing", columns: ROUTING_COLUMNS },
    { kind: "sending", columns: SENDING_COLUMNS },
  ];
  return {
    emailRoutingAdaptive: dataset(routing, "Email Routing Rules", messages),
    emailRoutingAdaptiveGroups: dataset(routing, "Email Routing Rules", groups),
    emailSendingAdaptive: dataset(sending, "Email Sending", messages),
    emailSendingAdaptiveGroups: dataset(sending, "Email Sending", groups),
  };
}

function readArguments(args: Row): { filter: unknown; limit: number; orderBy: unknown } {
  for (const name in args)
    if (!["filter", "limit", "orderBy"].includes(name))
      throw new QueryError(`unknown argument "${name}": use filter, limit or orderBy`);
  const limit = args["limit"] ?? MAX_ROWS;
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_ROWS)
    throw new QueryError(`limit must be a whole number from 1 to ${MAX_ROWS}`);
  return { filter: args["filter"], limit: limit as number, orderBy: args["orderBy"] };
}

/** `[datetime_DESC, status_ASC]`; a single order may be given without a list. */
function readOrder(input: unknown): { name: string; descending: boolean }[] {
  if (input === undefined || input === null) return [];
  const list = Array.isArray(input) ? input : [input];
  if (list.length > MAX_ORDER_BY) throw new QueryError(`orderBy accepts at most ${MAX_ORDER_BY} fields`);
  return list.map((item) => {
    const read = typeof item === "string" ? /^(.+)_(ASC|DESC)$/.exec(item) : null;
    if (read === null)
      throw new QueryError(
        `orderBy accepts fields with _ASC or _DESC, such as datetime_DESC, not ${JSON.stringify(item)?.slice(0, 60)}`,
      );
    return { name: read[1]!, descending: read[2] === "DESC" };
  });
}

function columnOf(columns: Kind["columns"], name: string, what: string): EmailColumn {
  const column = columns.get(name);
  if (column === undefined)
    throw new QueryError(`unknown ${what} "${name}"; available: ${[...columns.keys()].join(", ")}`);
  return column;
}

/** Undefined for constants: an entry always describes the final state of its message. */
function leafOf({ name, args, fields }: Field, columns: Kind["columns"], isGrouped = false): EmailColumn | undefined {
  if (fields.length > 0 || Object.keys(args).length > 0)
    throw new QueryError(`${name} is a scalar: it has no fields and accepts no arguments`);
  if (name === "isLastEvent") return undefined;
  const column = columnOf(columns, name, isGrouped ? "dimension" : "field");
  if (isGrouped && column.single === true)
    throw new QueryError(`"${name}" belongs to single messages and cannot be grouped: use the dataset without Groups`);
  return column;
}

function branchOf({ name, fields }: Field): Field[] {
  if (fields.length === 0) throw new QueryError(`${name} needs fields: ${name} { … }`);
  return fields;
}

interface Group {
  count: number;
  values: Values;
}

type Values = (string | number | null)[];

function groupBuilder(field: Field, dimensions: (values: Values) => Row): (group: Group) => unknown {
  switch (field.name) {
    case "count":
      return ({ count }) => count;
    case "dimensions":
      return ({ values }) => dimensions(values);
    case "avg":
      if (branchOf(field).every(({ name }) => name === "sampleInterval"))
        return () => Object.fromEntries(field.fields.map(({ key }) => [key, 1]));
      throw new QueryError("avg has only sampleInterval: messages have no other numeric values");
    default:
      throw new QueryError(`unknown field "${field.name}": groups have count, dimensions and avg`);
  }
}

/** Number of values to build before yielding to the event loop. */
const PART = 10_000;

/** `width`: number of values per row. */
async function buildInParts<Item>(
  items: readonly Item[],
  width: number,
  budget: Budget,
  build: (item: Item) => Row,
): Promise<Row[]> {
  const rows: Row[] = [];
  const part = Math.max(1, Math.floor(PART / Math.max(1, width)));
  for (const item of items) {
    if (rows.length % part === part - 1) {
      await setImmediate();
      budget.check();
    }
    const row = build(item);
    for (const key in row) budget.text(row[key]);
    rows.push(row);
  }
  return rows;
}

interface Leaf {
  key: string;
  column: EmailColumn | undefined;
}

/** Builds rows from column values. Everything that depends only on the query is computed once. */
function rowBuilder(leaves: Leaf[], allLeaves: Leaf[] = leaves): (values: Values) => Row {
  const places = new Map(allLeaves.filter(({ column }) => column !== undefined).map((leaf, i) => [leaf, i]));
  const cells = leaves.map((leaf) => ({ key: leaf.key, column: leaf.column, place: places.get(leaf)! }));
  return (values) =>
    Object.fromEntries(
      cells.map(({ key, column, place }) => [key, column === undefined ? 1 : renderedValue(column, values[place]!)]),
    );
}

const toComparable = ({ column, compared, name, single, type }: EmailColumn) => {
  // The sort order of text differs between databases.
  if (single === true && type === "text" && name !== "sessionId") throw new QueryError(`cannot order by ${name}`);
  return compared ?? column;
};

/** Converts errors of the log to GraphQL errors. */
async function withQueryErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (err) {
    throw err instanceof UserError
      ? new QueryError(`${err.message}.${err.fix === undefined ? "" : ` ${err.fix}`}`)
      : err;
  }
}
