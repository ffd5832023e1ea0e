import type { Clock } from "../../../kernel/index.ts";
import {
  quantile,
  type InvocationColumn,
  type InvocationMetrics,
  type InvocationSums,
} from "../../../workers/index.ts";
import type { DatasetColumn } from "./columns.ts";
import type { Dataset } from "./dataset.ts";
import { sumsDataset, timeColumns } from "./sums-dataset.ts";

const text = (name: string, column: InvocationColumn): DatasetColumn<InvocationColumn> => ({
  name,
  column,
  type: "text",
});

const COLUMNS: DatasetColumn<InvocationColumn>[] = [
  ...timeColumns<InvocationColumn>("start_at", (step) => `at/${step}`),
  text("scriptName", "script"),
  text("scriptVersion", "version"),
  text("status", "status"),
];

/** The unit of `duration` is gigabyte-seconds; the hosted service charges 128 MB for each invocation. */
const durationOf = (wallUs: number) => (wallUs / 1_000_000) * 0.128;

const SHARES = [
  ["P25", 0.25],
  ["P50", 0.5],
  ["P75", 0.75],
  ["P90", 0.9],
  ["P95", 0.95],
  ["P99", 0.99],
  ["P999", 0.999],
] as const;

const QUANTILES: Record<string, (figures: InvocationSums) => number | null> = Object.fromEntries(
  SHARES.flatMap(([name, share]): [string, (figures: InvocationSums) => number | null][] => [
    [`cpuTime${name}`, ({ cpuTimes }) => roundedOf(quantile(cpuTimes, share))],
    [`wallTime${name}`, ({ wallTimes }) => roundedOf(quantile(wallTimes, share))],
    [
      `duration${name}`,
      ({ wallTimes }) => {
        const wallUs = quantile(wallTimes, share);
        return wallUs === null ? null : durationOf(wallUs);
      },
    ],
  ]),
);

const roundedOf = (us: number | null): number | null => (us === null ? null : Math.round(us));

/** Invocations of workers in the form of the hosted service's dataset. Times in microseconds. */
export function workerDatasets({
  figures,
  clock,
}: {
  figures: Pick<InvocationMetrics, "read" | "days">;
  clock: Pick<Clock, "now">;
}): Record<string, Dataset> {
  return {
    workersInvocationsAdaptive: sumsDataset<InvocationColumn, InvocationSums>({
      permissions: ["Account Analytics Read", "Workers Scripts Read"],
      columns: COLUMNS,
      metrics: {
        sum: {
          requests: ({ requests }) => requests,
          errors: ({ errors }) => errors,
          subrequests: ({ subrequests }) => subrequests,
          cpuTimeUs: ({ cpuUs }) => cpuUs,
          wallTime: ({ wallUs }) => wallUs,
          duration: ({ wallUs }) => durationOf(wallUs),
        },
        max: {
          cpuTime: ({ maxCpuUs }) => maxCpuUs,
          wallTime: ({ maxWallUs }) => maxWallUs,
        },
        quantiles: QUANTILES,
      },
      days: figures.days,
      clock,
      read: ({ metrics, ...request }) =>
        figures.read({ ...request, times: [...metrics].some((name) => name.startsWith("quantiles.")) }),
    }),
  };
}
