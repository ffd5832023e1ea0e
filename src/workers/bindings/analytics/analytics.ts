import { setImmediate } from "node:timers/promises";
import { systemClock, randomIds, silentLog, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { createTtlCache } from "../recently-seen.ts";
import { analyticsErrors } from "./errors.ts";
import { DEFAULT_ANALYTICS_LIMITS, type AnalyticsLimits } from "./limits.ts";
import type { AnalyticsPoint } from "./point.ts";
import { createPointsTable, type PointsTable, type StoredPoint } from "./points-table.ts";
import type { Statement } from "./sql/ast.ts";
import { createQueryBudget, type QueryBudget } from "./sql/budget.ts";
import { formatResult } from "./sql/format.ts";
import { parseSql } from "./sql/parse.ts";
import { runSelect, type Result } from "./sql/run.ts";
import type { TimeRange } from "./sql/time-range.ts";

interface AnalyticsDeps {
  db: Db;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  limits?: Partial<AnalyticsLimits>;
}

/** Analytics Engine: stores data points and answers SQL queries. */
export interface Analytics {
  /** Resolves when the point is on disk. Throws tooManyDatasets. */
  write(account: string, dataset: string, point: AnalyticsPoint): Promise<void>;
  /** Runs a query of the SQL API. Throws invalidQuery, or an error with status 429 if a resource limit is reached. */
  query(account: string, sql: string): Promise<{ type: string; text: string }>;
  /** Deletes expired points. */
  sweep(): Promise<void>;
}

/** Points per page of a scan. On SQLite, reading a page blocks the process for a few milliseconds. */
const PAGE_SIZE = 1000;
const SWEEP_BATCH = 1000;

export function createAnalytics({
  db,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
  limits: limitOverrides,
}: AnalyticsDeps): Analytics {
  const limits = { ...DEFAULT_ANALYTICS_LIMITS, ...limitOverrides };
  const table = createPointsTable(db);
  const knownDatasets = createTtlCache<true>(clock, { freshMs: 60_000 });
  const pendingDatasets = new Map<string, Promise<boolean>>();
  const runningQueries = new Map<string, number>();

  /** Concurrent writes to a new dataset share one transaction. */
  async function ensureDataset(account: string, dataset: string): Promise<void> {
    const key = `${account}/${dataset}`;
    if (knownDatasets.get(key) !== undefined) return;
    let pendingAddition = pendingDatasets.get(key);
    if (pendingAddition === undefined) {
      pendingAddition = table.addDataset(account, dataset, limits.datasets).finally(() => pendingDatasets.delete(key));
      pendingDatasets.set(key, pendingAddition);
    }
    if (!(await pendingAddition)) throw analyticsErrors.tooManyDatasets({ limit: limits.datasets, dataset });
    knownDatasets.add(key, true);
  }

  async function run(account: string, statement: Statement, budget: QueryBudget): Promise<Result> {
    if (statement.kind === "timezone") return { columns: [{ name: "timezone", type: "String" }], rows: [["Etc/UTC"]] };
    const datasets = await table.datasets(account);
    if (statement.kind === "tables")
      return { columns: [{ name: "dataset", type: "String" }], rows: datasets.map((dataset) => [dataset]) };
    if (statement.from !== undefined && !datasets.includes(statement.from))
      throw analyticsErrors.invalidQuery({ reason: `unknown table: ${statement.from.slice(0, 100)}` });
    const oldest = clock.now() - limits.retentionMs;
    return runSelect(statement, {
      points: (dataset, range) =>
        scan(table, { account, dataset, range: { ...range, from: Math.max(range.from, oldest) } }, budget),
      now: clock.now(),
      limits,
      budget,
    });
  }

  return {
    async write(account, dataset, point) {
      const timestamp = clock.now();
      await ensureDataset(account, dataset);
      await table.insert(account, dataset, { ...point, at: timestamp, id: ids.hex() });
    },

    async query(account, sql) {
      const statement = parseSql(sql);
      const accountQueries = runningQueries.get(account) ?? 0;
      const totalQueries = [...runningQueries.values()].reduce((sum, count) => sum + count, 0);
      if (accountQueries >= limits.queriesPerAccount || totalQueries >= limits.queries)
        throw analyticsErrors.tooManyQueries();
      runningQueries.set(account, accountQueries + 1);
      try {
        const budget = createQueryBudget(limits);
        return await formatResult(await run(account, statement, budget), statement.format, {
          maxBytes: limits.resultBytes,
          budget,
        });
      } finally {
        const remainingQueries = runningQueries.get(account)! - 1;
        if (remainingQueries === 0) runningQueries.delete(account);
        else runningQueries.set(account, remainingQueries);
      }
    },

    async sweep() {
      const before = clock.now() - limits.retentionMs;
      let total = 0;
      let deletedCount;
      do {
        deletedCount = await table.deleteBefore(before, SWEEP_BATCH);
        total += deletedCount;
        await setImmediate();
      } while (deletedCount === SWEEP_BATCH);
      if (total === 0) return;
      await table.deleteEmptyDatasets();
      log.debug({ points: total }, "analytics: expired data points deleted");
    },
  };
}

/** Reads all points of a range, oldest first. Throws tooSlow. */
async function* scan(
  table: PointsTable,
  { account, dataset, range }: { account: string; dataset: string; range: TimeRange },
  budget: QueryBudget,
): AsyncGenerator<StoredPoint[]> {
  let after: StoredPoint | undefined;
  for (;;) {
    const page = await table.page(account, dataset, { ...range, after }, PAGE_SIZE);
    yield page;
    if (page.length < PAGE_SIZE) return;
    budget.checkTime();
    after = page.at(-1);
    // SQLite reads synchronously, so let other work run between two pages.
    await setImmediate();
  }
}
