import type { Permission } from "../../../accounts/index.ts";
import type { Activity, CountColumn, CountFilter, EntryKind } from "../../../mail/index.ts";
import { selectionOf, buildInParts, MAX_ROWS, readArguments, readOrder, withQueryErrors } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { renderedValue } from "./columns.ts";
import type { Dataset } from "./dataset.ts";
import { ROUTING_COLUMNS, SENDING_COLUMNS, ZONE_COLUMN, type EmailColumn } from "./email-columns.ts";
import type { Field } from "./fields.ts";
import { readFilter, type DatasetFilter } from "./filter.ts";
import { QueryError } from "./lex.ts";

interface Kind {
  kind: EntryKind;
  area: "Email Routing Rules" | "Email Sending";
  columns: ReadonlyMap<string, EmailColumn>;
}

const ROUTING: Kind = { kind: "routing", area: "Email Routing Rules", columns: ROUTING_COLUMNS };
const SENDING: Kind = { kind: "sending", area: "Email Sending", columns: SENDING_COLUMNS };
const ofAccount = (kind: Kind): Kind => ({
  ...kind,
  columns: new Map([...kind.columns, [ZONE_COLUMN.name, ZONE_COLUMN]]),
});

type Row = Record<string, unknown>;

const DAY_SECONDS = 24 * 3600;
const NEVER: CountFilter = { column: "at", operator: "<", value: 0 };

interface EmailDatasetsDeps {
  activity: Pick<Activity, "count" | "first">;
  days: number;
}

type Owner = { zone: string } | { account: string; hiddenZones: readonly string[] };

/**
 * Returns the message log in the form of the hosted service's datasets: `emailRoutingAdaptive`, `emailSendingAdaptive`
 * and their groups.
 */
export const emailDatasets = (deps: EmailDatasetsDeps): Record<string, Dataset> => {
  const { dataset, messages, groups } = createEmailDatasets(deps);
  return {
    emailRoutingAdaptive: dataset(ROUTING, messages),
    emailRoutingAdaptiveGroups: dataset(ROUTING, groups),
    emailSendingAdaptive: dataset(SENDING, messages),
    emailSendingAdaptiveGroups: dataset(SENDING, groups),
  };
};

/** Returns the groups of all zones of an account, which the hosted service does not have. */
export const emailAccountDatasets = (deps: EmailDatasetsDeps): Record<string, Dataset> => {
  const { dataset, groups } = createEmailDatasets(deps);
  return {
    emailRoutingAdaptiveGroups: dataset(ofAccount(ROUTING), groups),
    emailSendingAdaptiveGroups: dataset(ofAccount(SENDING), groups),
  };
};

function createEmailDatasets({ activity, days }: EmailDatasetsDeps) {
  async function messages(
    { kind, columns }: Kind,
    owner: Owner,
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
      kind,
      ...readOwned(owner, readFilter(filter, columns, { never: NEVER })),
      order,
      limit: Math.min(limit, budget.rows(leaves.length) + 1),
      columns: requestedColumns,
    });
    budget.spend(rows.length, leaves.length);
    return buildInParts(rows, leaves.length, budget, rowBuilder(leaves));
  }

  async function groups(
    { kind, columns }: Kind,
    owner: Owner,
    args: Row,
    fields: Field[],
    budget: Budget,
  ): Promise<Row[]> {
    const { filter, limit, orderBy } = readArguments(args);
    const leaves = fields
      .filter(({ name }) => name === "dimensions")
      .flatMap((branch) =>
        selectionOf(branch).map((field) => ({
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
      kind,
      ...readOwned(owner, readFilter(filter, columns, { never: NEVER })),
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

  function dataset(kind: Kind, rows: typeof messages): Dataset {
    const permissions: Permission[] = ["Account Analytics Read", `${kind.area} Read`];
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
      rows: ({ account, zone, hiddenZones = [] }, args, requestedFields, budget) =>
        withQueryErrors(() =>
          rows(kind, zone === undefined ? { account, hiddenZones } : { zone }, args, requestedFields, budget),
        ),
    };
  }

  return { dataset, messages, groups };
}

/** Restricts the query to the zone, or to the zones of the account that the caller may see. */
function readOwned(owner: Owner, read: DatasetFilter<CountColumn>) {
  if ("zone" in owner) return { ...read, zone: owner.zone };
  const { account, hiddenZones } = owner;
  const hidden: CountFilter = { column: "zone_id", operator: "not in", value: [...hiddenZones] };
  return { ...read, filter: { all: [read.filter, hidden] }, account };
}

function columnOf(columns: Kind["columns"], name: string, what: string): EmailColumn {
  const column = columns.get(name);
  if (column === undefined)
    throw new QueryError(`unknown ${what} "${name}"; available: ${[...columns.keys()].join(", ")}`);
  return column;
}

/**
 * Returns the column of a field; undefined for isLastEvent, which is always 1: an entry holds the final state of its
 * message.
 */
function leafOf({ name, args, fields }: Field, columns: Kind["columns"], isGrouped = false): EmailColumn | undefined {
  if (fields.length > 0 || Object.keys(args).length > 0)
    throw new QueryError(`${name} is a scalar: it has no fields and accepts no arguments`);
  if (name === "isLastEvent") return undefined;
  const column = columnOf(columns, name, isGrouped ? "dimension" : "field");
  if (isGrouped && column.single === true)
    throw new QueryError(`"${name}" belongs to single messages and cannot be grouped: use the dataset without Groups`);
  return column;
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
      if (selectionOf(field).every(({ name }) => name === "sampleInterval"))
        return () => Object.fromEntries(field.fields.map(({ key }) => [key, 1]));
      throw new QueryError("avg has only sampleInterval: messages have no other numeric values");
    default:
      throw new QueryError(`unknown field "${field.name}": groups have count, dimensions and avg`);
  }
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
