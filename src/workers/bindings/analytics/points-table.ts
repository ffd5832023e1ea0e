import { sql } from "kysely";
import { prepareQuery, type Db, type Migration } from "../../../store/index.ts";
import type { AnalyticsPoint } from "./point.ts";

interface AnalyticsTables {
  analytics_datasets: { account_id: string; dataset: string };
  /** Times are epoch milliseconds. */
  analytics_points: {
    account_id: string;
    dataset: string;
    at: number;
    /** Distinguishes points written in the same millisecond. */
    id: string;
    index1: string;
    /** JSON arrays of up to 20 values. */
    blobs: string;
    doubles: string;
  };
}

export const analyticsMigrations: Migration[] = [
  {
    name: "workers-analytics-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("analytics_datasets")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("dataset", text, (column) => column.notNull())
        .addPrimaryKeyConstraint("analytics_datasets_key", ["account_id", "dataset"])
        .execute();
      await db.schema
        .createTable("analytics_points")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("dataset", text, (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("index1", "text", (column) => column.notNull())
        .addColumn("blobs", "text", (column) => column.notNull())
        .addColumn("doubles", "text", (column) => column.notNull())
        .addPrimaryKeyConstraint("analytics_points_key", ["account_id", "dataset", "at", "id"])
        .execute();
      await db.schema.createIndex("analytics_points_at").on("analytics_points").column("at").execute();
    },
  },
];

export interface StoredPoint extends AnalyticsPoint {
  /** Epoch milliseconds. */
  at: number;
  id: string;
}

/** A time range in epoch milliseconds, both ends inclusive. `after` is the last point of the previous page. */
interface PointRange {
  from: number;
  to: number;
  after: { at: number; id: string } | undefined;
}

export function createPointsTable(db: Db) {
  const tables = db.tables<AnalyticsTables>();
  const insert = prepareQuery((arg) =>
    tables.insertInto("analytics_points").values({
      account_id: arg<string>("account"),
      dataset: arg<string>("dataset"),
      at: arg<number>("at"),
      id: arg<string>("id"),
      index1: arg<string>("index"),
      blobs: arg<string>("blobs"),
      doubles: arg<string>("doubles"),
    }),
  );

  return {
    /** Resolves with false if the account has reached its limit of datasets. */
    addDataset: (account: string, dataset: string, maxDatasets: number): Promise<boolean> =>
      db.transaction<AnalyticsTables, boolean>(async (tx) => {
        const names = await tx
          .selectFrom("analytics_datasets")
          .select("dataset")
          .where("account_id", "=", account)
          .limit(maxDatasets)
          .execute();
        if (names.some((pointRow) => pointRow.dataset === dataset)) return true;
        if (names.length >= maxDatasets) return false;
        await tx
          .insertInto("analytics_datasets")
          .values({ account_id: account, dataset })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        return true;
      }),

    async datasets(account: string): Promise<string[]> {
      const rows = await tables
        .selectFrom("analytics_datasets")
        .select("dataset")
        .where("account_id", "=", account)
        .orderBy("dataset")
        .execute();
      return rows.map(({ dataset }) => dataset);
    },

    async insert(account: string, dataset: string, { blobs, doubles, ...point }: StoredPoint): Promise<void> {
      const lists = { blobs: JSON.stringify(blobs), doubles: JSON.stringify(doubles) };
      await db.write(insert({ account, dataset, ...point, ...lists }));
    },

    /** Returns points ordered by time, then id. */
    async page(account: string, dataset: string, range: PointRange, limit: number): Promise<StoredPoint[]> {
      const { from, to, after } = range;
      let query = tables
        .selectFrom("analytics_points")
        .select(["at", "id", "index1", "blobs", "doubles"])
        .where("account_id", "=", account)
        .where("dataset", "=", dataset)
        .where("at", ">=", from)
        .where("at", "<=", to)
        .orderBy("at")
        .orderBy("id")
        .limit(limit);
      if (after)
        query = query.where(({ eb, refTuple, tuple }) => eb(refTuple("at", "id"), ">", tuple(after.at, after.id)));
      return (await db.read(query)).map(({ at, id, index1, blobs, doubles }) => ({
        at,
        id,
        index: index1,
        blobs: JSON.parse(blobs) as string[],
        doubles: JSON.parse(doubles) as number[],
      }));
    },

    /** Deletes up to `limit` points that are older than `at`; returns their number. */
    async deleteBefore(at: number, limit: number): Promise<number> {
      const old = tables
        .selectFrom("analytics_points")
        .select(["account_id", "dataset", "at", "id"])
        .where("at", "<", at)
        .orderBy("at")
        .limit(limit);
      const { affected } = await db.write(
        tables
          .deleteFrom("analytics_points")
          .where(({ eb, refTuple }) =>
            eb(refTuple("account_id", "dataset", "at", "id"), "in", old.$asTuple("account_id", "dataset", "at", "id")),
          ),
      );
      return affected;
    },

    /** Deletes datasets without points. */
    async deleteEmptyDatasets(): Promise<void> {
      await db.write(
        tables
          .deleteFrom("analytics_datasets")
          .where(({ eb, not, exists }) =>
            not(
              exists(
                eb
                  .selectFrom("analytics_points")
                  .select("analytics_points.id")
                  .whereRef("analytics_points.account_id", "=", "analytics_datasets.account_id")
                  .whereRef("analytics_points.dataset", "=", "analytics_datasets.dataset"),
              ),
            ),
          ),
      );
    },
  };
}

export type PointsTable = ReturnType<typeof createPointsTable>;
