import { UserError, type Clock } from "../../kernel/index.ts";
import { createQuota } from "../../kernel/quota.ts";
import { suppressionErrors } from "./errors.ts";
import { isReadOnly, suppressionScopeOf } from "./shown.ts";
import {
  deleteSuppressions,
  insertSuppressions,
  suppressionsOf,
  type SuppressionExecutor,
  type SuppressionRow,
} from "./suppressions-table.ts";
import type { BulkItemResult, BulkResult, SuppressionRequest, Suppressions } from "./types.ts";

interface BulkDeps {
  clock: Pick<Clock, "now">;
  /** Throws UserError for an invalid request. */
  rowOf(account: string, request: SuppressionRequest): SuppressionRow;
  isExpired(row: SuppressionRow): boolean;
  transaction<Result>(work: (tx: SuppressionExecutor) => Promise<Result>): Promise<Result>;
}

const MAX_ITEMS = 1000;
const MAX_REQUESTS_PER_MINUTE = 10;
/** Rows per statement: SQLite allows 32,766 variables. */
const ROWS_PER_INSERT = 250;

/** Adds many suppressions in one transaction: either all valid ones or none. */
export function createBulk({ clock, rowOf, isExpired, transaction }: BulkDeps): Suppressions["bulk"] {
  const quota = createQuota({ clock, limit: MAX_REQUESTS_PER_MINUTE, perMs: 60_000 });

  return async (account, requests) => {
    if (requests.length > MAX_ITEMS) throw suppressionErrors.tooManyItems({ limit: MAX_ITEMS });
    const wait = quota.consume(account);
    if (wait > 0) throw suppressionErrors.tooManyImports({ limit: MAX_REQUESTS_PER_MINUTE, retryAfter: wait });
    const items: BulkItemResult[] = [];
    const rowsByPlace = new Map<string, { row: SuppressionRow; indexes: number[] }>();
    for (const [index, request] of requests.entries()) {
      if ("invalid" in request) {
        items.push({ index, status: "invalid", error: request.invalid });
        continue;
      }
      try {
        const row = rowOf(account, request);
        rowsByPlace.getOrInsertComputed(placeOf(row), () => ({ row, indexes: [] })).indexes.push(index);
      } catch (err) {
        if (!(err instanceof UserError)) throw err;
        items.push({ index, status: "invalid", error: err.message });
      }
    }
    const storedRows =
      rowsByPlace.size === 0
        ? new Map<string, SuppressionRow>()
        : await transaction((tx) =>
            storeAll(
              tx,
              account,
              [...rowsByPlace.values()].map(({ row }) => row),
            ),
          );
    for (const [
      place,
      {
        row,
        indexes: [first, ...otherIndexes],
      },
    ] of rowsByPlace) {
      const there = storedRows.get(place);
      const summary = { email: row.email, id: (there ?? row).id, scope: suppressionScopeOf(row) };
      if (there !== undefined && isReadOnly(there))
        items.push({
          index: first!,
          email: row.email,
          status: "error",
          error: suppressionErrors.readOnlySuppression().message,
        });
      else items.push({ index: first!, ...summary, status: there === undefined ? "processed" : "skipped" });
      for (const index of otherIndexes) items.push({ index, ...summary, status: "skipped" });
    }
    const deduplicated = [...rowsByPlace.values()].reduce((sum, { indexes }) => sum + indexes.length - 1, 0);
    return resultOf(
      items.sort((a, b) => a.index - b.index),
      deduplicated,
    );
  };

  /** Inserts missing rows; returns existing ones by index. */
  async function storeAll(
    tx: SuppressionExecutor,
    account: string,
    rows: SuppressionRow[],
  ): Promise<Map<string, SuppressionRow>> {
    const there = new Map<string, SuppressionRow>();
    for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
      const rowBatch = rows.slice(at, at + ROWS_PER_INSERT);
      const foundRows = await suppressionsOf(
        tx,
        account,
        rowBatch.map(({ address }) => address),
      );
      await deleteSuppressions(
        tx,
        foundRows.filter(isExpired).map(({ id }) => id),
      );
      for (const row of foundRows) if (!isExpired(row)) there.set(placeOf(row), row);
      await insertSuppressions(
        tx,
        rowBatch.filter((row) => !there.has(placeOf(row))),
      );
    }
    return there;
  }
}

const placeOf = ({ address, scope }: SuppressionRow) => `${scope} ${address}`;

function resultOf(items: BulkItemResult[], deduplicated: number): BulkResult {
  const count = (status: BulkItemResult["status"]) => items.filter((item) => item.status === status).length;
  return {
    total: items.length,
    processed: count("processed"),
    invalid: count("invalid"),
    errors: count("error"),
    skipped: count("skipped"),
    deduplicated,
    items,
  };
}
