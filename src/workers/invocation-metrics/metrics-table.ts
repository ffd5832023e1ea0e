import { sql, type RawBuilder } from "kysely";
import {
  createGroupCommitter,
  deleteOldSums,
  prepareQuery,
  readSums,
  roundedTime,
  startOf,
  type ColumnValue,
  type Db,
  type Migration,
  type RowFilter,
  type SumPeriod,
  type SumsRow,
} from "../../store/index.ts";
import { workerErrors } from "../errors.ts";
import type { Histogram } from "./histogram.ts";

/** Columns by which metrics can be grouped and compared; `at/<milliseconds>` is the time rounded down. */
export type InvocationColumn = "script" | "version" | "status" | "start_at" | `at/${number}`;

/** Metrics of the invocations of one version with one status. Times in microseconds. */
export interface InvocationCell {
  account: string;
  /** Epoch milliseconds. */
  at: number;
  script: string;
  version: string;
  status: string;
  requests: number;
  errors: number;
  subrequests: number;
  cpuUs: number;
  wallUs: number;
  maxCpuUs: number;
  maxWallUs: number;
  cpuTimes: Map<number, number>;
  wallTimes: Map<number, number>;
}

interface FiguresTables {
  /** Times in epoch milliseconds; `period` in milliseconds. */
  worker_invocations: {
    account_id: string;
    period: number;
    start_at: number;
    script: string;
    version: string;
    status: string;
    requests: number;
    errors: number;
    subrequests: number;
    cpu_us: number;
    wall_us: number;
    cpu_max_us: number;
    wall_max_us: number;
  };
  /** The histograms of the same invocations. */
  worker_invocation_times: {
    account_id: string;
    period: number;
    start_at: number;
    script: string;
    version: string;
    status: string;
    kind: TimeKind;
    bucket: number;
    invocations: number;
  };
}

type TimeKind = "cpu" | "wall";

type StoredColumn = InvocationColumn | "kind" | "bucket";

const KEY = ["account_id", "period", "start_at", "script", "version", "status"] as const;

export const invocationMetricsMigrations: Migration[] = [
  {
    name: "workers-invocation-figures-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      const keyed = (table: string) =>
        db.schema
          .createTable(table)
          .addColumn("account_id", text, (column) => column.notNull())
          .addColumn("period", "bigint", (column) => column.notNull())
          .addColumn("start_at", "bigint", (column) => column.notNull())
          .addColumn("script", text, (column) => column.notNull())
          .addColumn("version", text, (column) => column.notNull())
          .addColumn("status", text, (column) => column.notNull());
      await keyed("worker_invocations")
        .addColumn("requests", "bigint", (column) => column.notNull())
        .addColumn("errors", "bigint", (column) => column.notNull())
        .addColumn("subrequests", "bigint", (column) => column.notNull())
        .addColumn("cpu_us", "bigint", (column) => column.notNull())
        .addColumn("wall_us", "bigint", (column) => column.notNull())
        .addColumn("cpu_max_us", "bigint", (column) => column.notNull())
        .addColumn("wall_max_us", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_invocations_key", [...KEY])
        .execute();
      await keyed("worker_invocation_times")
        .addColumn("kind", text, (column) => column.notNull())
        .addColumn("bucket", "integer", (column) => column.notNull())
        .addColumn("invocations", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("worker_invocation_times_key", [...KEY, "kind", "bucket"])
        .execute();
      for (const table of ["worker_invocations", "worker_invocation_times"]) {
        await db.schema.createIndex(`${table}_old`).on(table).columns(["period", "start_at"]).execute();
        await db.schema
          .createIndex(`${table}_script`)
          .on(table)
          .columns(["account_id", "script", "period", "start_at"])
          .execute();
      }
    },
  },
];

const LIMITS = { rows: 1_000_000, groups: 20_000 };

interface MetricsRead {
  account: string;
  period: SumPeriod;
  since: number;
  until: number;
  filter: RowFilter<InvocationColumn>;
  groupBy: readonly InvocationColumn[];
}

export function createMetricsTable(db: Db, periods: readonly SumPeriod[]) {
  const tables = db.tables<FiguresTables>();
  const commits = createGroupCommitter(db);
  const keyOf = (arg: <Value>(name: string) => Value) => ({
    account_id: arg<string>("account"),
    period: arg<number>("period"),
    start_at: arg<number>("start"),
    script: arg<string>("script"),
    version: arg<string>("version"),
    status: arg<string>("status"),
  });
  const larger = (column: string) =>
    sql<number>`case when ${sql.ref(`excluded.${column}`)} > ${sql.ref(`worker_invocations.${column}`)} then ${sql.ref(`excluded.${column}`)} else ${sql.ref(`worker_invocations.${column}`)} end`;
  const addSums = prepareQuery((arg) =>
    tables
      .insertInto("worker_invocations")
      .values({
        ...keyOf(arg),
        requests: arg("requests"),
        errors: arg("errors"),
        subrequests: arg("subrequests"),
        cpu_us: arg("cpuUs"),
        wall_us: arg("wallUs"),
        cpu_max_us: arg("maxCpuUs"),
        wall_max_us: arg("maxWallUs"),
      })
      .onConflict((conflict) =>
        conflict.columns([...KEY]).doUpdateSet((eb) => ({
          requests: eb("worker_invocations.requests", "+", eb.ref("excluded.requests")),
          errors: eb("worker_invocations.errors", "+", eb.ref("excluded.errors")),
          subrequests: eb("worker_invocations.subrequests", "+", eb.ref("excluded.subrequests")),
          cpu_us: eb("worker_invocations.cpu_us", "+", eb.ref("excluded.cpu_us")),
          wall_us: eb("worker_invocations.wall_us", "+", eb.ref("excluded.wall_us")),
          cpu_max_us: larger("cpu_max_us"),
          wall_max_us: larger("wall_max_us"),
        })),
      ),
  );
  const addTimes = prepareQuery((arg) =>
    tables
      .insertInto("worker_invocation_times")
      .values({ ...keyOf(arg), kind: arg("kind"), bucket: arg("bucket"), invocations: arg("invocations") })
      .onConflict((conflict) =>
        conflict.columns([...KEY, "kind", "bucket"]).doUpdateSet((eb) => ({
          invocations: eb("worker_invocation_times.invocations", "+", eb.ref("excluded.invocations")),
        })),
      ),
  );

  const read = (
    query: Omit<MetricsRead, "groupBy">,
    table: string,
    selected: { groupBy: readonly StoredColumn[]; sums: string[]; maxima?: string[] },
    limits = LIMITS,
  ): Promise<SumsRow[]> =>
    readSums<StoredColumn>(db, {
      ...query,
      ...selected,
      table,
      expression,
      indexed: ["script"],
      limits,
      tooMany: (limit) => workerErrors.tooManyDataPoints({ limit }),
    });

  return {
    add: (cells: readonly InvocationCell[]): Promise<void> =>
      commits.writeAtomically(
        cells.flatMap(({ at, cpuTimes, wallTimes, ...cell }) =>
          periods.flatMap((period) => {
            const row = { ...cell, period: period.ms, start: startOf(at, period) };
            const timesOf = (kind: TimeKind, times: Histogram) =>
              [...times].map(([bucket, invocations]) => addTimes({ ...row, kind, bucket, invocations }));
            return [addSums(row), ...timesOf("cpu", cpuTimes), ...timesOf("wall", wallTimes)];
          }),
        ),
      ),

    sums: (query: MetricsRead): Promise<SumsRow[]> =>
      read(query, "worker_invocations", {
        groupBy: query.groupBy,
        sums: ["requests", "errors", "subrequests", "cpu_us", "wall_us"],
        maxima: ["cpu_max_us", "wall_max_us"],
      }),

    /** Resolves with one histogram for each group and kind of time. */
    async times(query: MetricsRead): Promise<{ values: ColumnValue[]; kind: TimeKind; histogram: Histogram }[]> {
      const rows = await read(
        query,
        "worker_invocation_times",
        { groupBy: [...query.groupBy, "kind", "bucket"], sums: ["invocations"] },
        { rows: LIMITS.rows, groups: 20 * LIMITS.groups },
      );
      const histograms = new Map<string, { values: ColumnValue[]; kind: TimeKind; histogram: Map<number, number> }>();
      for (const { values, sums: figures } of rows) {
        const [kind, bucket] = values.splice(-2) as [TimeKind, number];
        const { histogram } = histograms.getOrInsertComputed(JSON.stringify([kind, ...values]), () => ({
          values,
          kind,
          histogram: new Map<number, number>(),
        }));
        histogram.set(Number(bucket), figures["invocations"]!);
      }
      return [...histograms.values()];
    },

    async sweep(now: number): Promise<void> {
      for (const table of ["worker_invocations", "worker_invocation_times"])
        await deleteOldSums(db, table, periods, now);
    },
  };
}

function expression(column: StoredColumn): RawBuilder<ColumnValue> {
  const step = /^at\/(\d+)$/.exec(column)?.[1];
  return step === undefined ? sql`${sql.ref(column)}` : roundedTime("start_at", Number(step));
}
