import type { Clock, Log } from "../../kernel/index.ts";
import {
  choosePeriod,
  createMetricBuffer,
  localSweeps,
  startOf,
  type ColumnValue,
  type Db,
  type RowFilter,
  type Sweeps,
} from "../../store/index.ts";
import type { Invocation, InvocationOutcome, WorkerRuntime, WorkerUsage } from "../runtime/port.ts";
import { createMetricsTable, type InvocationCell, type InvocationColumn } from "./metrics-table.ts";
import { bucketOfDuration, type Histogram } from "./histogram.ts";

/** Metrics of a group of invocations. Times in microseconds. */
export interface InvocationSums {
  requests: number;
  errors: number;
  subrequests: number;
  cpuUs: number;
  wallUs: number;
  maxCpuUs: number;
  maxWallUs: number;
  /** Empty unless requested. */
  cpuTimes: Histogram;
  wallTimes: Histogram;
}

interface InvocationMetricsQuery {
  account: string;
  /** Epoch milliseconds: start inclusive, end exclusive. Extended to whole periods. */
  since: number;
  until: number;
  /** Granularity of the requested times in milliseconds; absent if none are requested. */
  step?: number | undefined;
  filter: RowFilter<InvocationColumn>;
  groupBy: readonly InvocationColumn[];
  /** True to read the histograms. */
  times: boolean;
}

/** Counts the invocations of deployed workers per five minutes, per hour and per day. */
export interface InvocationMetrics {
  /** Days that metrics are kept. */
  readonly days: number;
  /** Counts the invocations of these workers from now on. */
  watch(runtime: Pick<WorkerRuntime, "onInvocation" | "onUsage">): void;
  /** Throws tooManyDataPoints. */
  read(query: InvocationMetricsQuery): Promise<{ values: ColumnValue[]; figures: InvocationSums }[]>;
  /** Writes the counts; this also happens automatically every few seconds. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface InvocationMetricsDeps {
  db: Db;
  /** Default: this process deletes old metrics. */
  sweeps?: Pick<Sweeps, "run">;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Days that metrics are kept. Default 90. */
  days?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Number of cells per write. A cell has up to a few hundred rows. */
const CELLS_PER_WRITE = 10;

const periodsOf = (days: number) => [
  { ms: 5 * MINUTE_MS, keptMs: Math.min(days, 2) * DAY_MS },
  { ms: HOUR_MS, keptMs: Math.min(days, 31) * DAY_MS },
  { ms: DAY_MS, keptMs: days * DAY_MS },
];

/** The values of `status` in the hosted service. */
const STATUSES: Record<InvocationOutcome["outcome"], string> = {
  ok: "success",
  exception: "scriptThrewException",
  exceededCpu: "exceededResources",
  exceededMemory: "exceededResources",
  exceededWallTime: "exceededResources",
  canceled: "clientDisconnected",
};

const isError = (outcome: InvocationOutcome["outcome"]) => outcome !== "ok" && outcome !== "canceled";

export function createInvocationMetrics({
  db,
  sweeps = localSweeps,
  clock,
  log,
  days = 90,
}: InvocationMetricsDeps): InvocationMetrics {
  const periods = periodsOf(days);
  const table = createMetricsTable(db, periods);
  const buffer = createMetricBuffer<InvocationCell>({
    name: "workers: invocations",
    write: table.add,
    merge,
    log,
    batchSize: CELLS_PER_WRITE,
  });
  let lastSweptHour = Math.floor(clock.now() / HOUR_MS);
  const unsubscribe: (() => void)[] = [];

  function cellOf(
    { account, script, version }: Pick<Invocation, "account" | "script" | "version">,
    outcome: InvocationOutcome["outcome"],
  ): InvocationCell {
    const at = startOf(clock.now(), periods[0]!);
    const status = STATUSES[outcome];
    return buffer.cell(`${account} ${script} ${version} ${status} ${at}`, () => ({
      account: account!,
      at,
      script,
      version,
      status,
      requests: 0,
      errors: 0,
      subrequests: 0,
      cpuUs: 0,
      wallUs: 0,
      maxCpuUs: 0,
      maxWallUs: 0,
      cpuTimes: new Map(),
      wallTimes: new Map(),
    }));
  }

  function onInvocation(invocation: Invocation) {
    const { account, event, outcome, wallMs } = invocation;
    // Events of Durable Objects are not requests to the worker.
    if (account === undefined || (event.kind === "other" && event.object !== undefined)) return;
    const cell = cellOf(invocation, outcome);
    cell.requests++;
    if (isError(outcome)) cell.errors++;
    const wallUs = Math.max(0, Math.round(wallMs * 1000));
    cell.wallUs += wallUs;
    cell.maxWallUs = Math.max(cell.maxWallUs, wallUs);
    increase(cell.wallTimes, bucketOfDuration(wallUs), 1);
  }

  function onUsage(usage: WorkerUsage) {
    if (usage.account === undefined) return;
    if (usage.subrequests > 0) cellOf(usage, "ok").subrequests += usage.subrequests;
    for (const { outcome, us, count } of usage.cpuTimes) {
      const cell = cellOf(usage, outcome);
      cell.cpuUs += us * count;
      cell.maxCpuUs = Math.max(cell.maxCpuUs, us);
      increase(cell.cpuTimes, bucketOfDuration(us), count);
    }
  }

  async function sweep() {
    const now = clock.now();
    const hour = Math.floor(now / HOUR_MS);
    if (hour === lastSweptHour) return;
    lastSweptHour = hour;
    try {
      await sweeps.run("workers: sweep of metrics of invocations", HOUR_MS, () => table.sweep(now));
    } catch (err) {
      log.warn({ err }, "workers: failed to delete old invocation metrics, will retry");
      lastSweptHour = -1;
    }
  }
  const sweeping = setInterval(() => void sweep(), MINUTE_MS).unref();

  return {
    days,
    watch(runtime) {
      unsubscribe.push(runtime.onInvocation(onInvocation), runtime.onUsage(onUsage));
    },
    async read({ step, times: wantsTimes, ...query }) {
      const period = choosePeriod(periods, { ...query, step, now: clock.now() });
      const rows = await table.sums({ ...query, period });
      const groups = new Map(
        rows.map(({ values, sums }) => [
          JSON.stringify(values),
          {
            values,
            figures: {
              requests: sums["requests"]!,
              errors: sums["errors"]!,
              subrequests: sums["subrequests"]!,
              cpuUs: sums["cpu_us"]!,
              wallUs: sums["wall_us"]!,
              maxCpuUs: sums["cpu_max_us"]!,
              maxWallUs: sums["wall_max_us"]!,
              cpuTimes: NO_TIMES,
              wallTimes: NO_TIMES,
            },
          },
        ]),
      );
      for (const { values, kind, histogram } of wantsTimes ? await table.times({ ...query, period }) : []) {
        const group = groups.get(JSON.stringify(values));
        if (group !== undefined) group.figures[kind === "cpu" ? "cpuTimes" : "wallTimes"] = histogram;
      }
      return [...groups.values()];
    },
    async flush() {
      await buffer.flush();
      await sweep();
    },
    async close() {
      clearInterval(sweeping);
      for (const stop of unsubscribe) stop();
      await buffer.close();
    },
  };
}

const NO_TIMES: Histogram = new Map();

function increase(times: Map<number, number>, bucket: number, count: number): void {
  times.set(bucket, (times.get(bucket) ?? 0) + count);
}

function merge(into: InvocationCell, from: InvocationCell): void {
  for (const name of ["requests", "errors", "subrequests", "cpuUs", "wallUs"] as const) into[name] += from[name];
  for (const name of ["maxCpuUs", "maxWallUs"] as const) into[name] = Math.max(into[name], from[name]);
  for (const name of ["cpuTimes", "wallTimes"] as const)
    for (const [bucket, count] of from[name]) increase(into[name], bucket, count);
}
