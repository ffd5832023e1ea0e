import { setImmediate } from "node:timers/promises";
import { UserError } from "../../../kernel/index.ts";
import type { Budget } from "./budget.ts";
import type { Field } from "./fields.ts";
import { QueryError } from "./lex.ts";

type Row = Record<string, unknown>;

/** Rows of one dataset. */
export const MAX_ROWS = 10_000;
const MAX_ORDER_BY = 10;

export function readArguments(args: Row): { filter: unknown; limit: number; orderBy: unknown } {
  for (const name in args)
    if (!["filter", "limit", "orderBy"].includes(name))
      throw new QueryError(`unknown argument "${name}": use filter, limit or orderBy`);
  const limit = args["limit"] ?? MAX_ROWS;
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_ROWS)
    throw new QueryError(`limit must be a whole number from 1 to ${MAX_ROWS}`);
  return { filter: args["filter"], limit: limit as number, orderBy: args["orderBy"] };
}

/** Reads an order such as `[datetime_DESC, status_ASC]`; a single order may be given without a list. */
export function readOrder(input: unknown): { name: string; descending: boolean }[] {
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

/** Returns the selection set of a field (GraphQL 2.4). Throws QueryError if it is empty. */
export function selectionOf({ name, fields }: Field): Field[] {
  if (fields.length === 0) throw new QueryError(`${name} needs fields: ${name} { … }`);
  return fields;
}

/** Number of values to build before yielding to the event loop. */
const PART = 10_000;

/** Builds rows, and yields to the event loop after each part. `width`: number of values per row. */
export async function buildInParts<Item>(
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

/** Converts errors of a domain to GraphQL errors. */
export async function withQueryErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (err) {
    throw err instanceof UserError
      ? new QueryError(`${err.message}.${err.fix === undefined ? "" : ` ${err.fix}`}`)
      : err;
  }
}
