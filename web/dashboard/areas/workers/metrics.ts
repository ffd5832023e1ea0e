import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { ApiError } from "../../api/errors.ts";

/** Invocations of a worker. Times in milliseconds; null without invocations. */
export interface WorkerMetrics {
  requests: number;
  errors: number;
  cpuP50: number | null;
  cpuP99: number | null;
}

interface Row {
  sum: { requests: number; errors: number };
  quantiles: { cpuTimeP50: number | null; cpuTimeP99: number | null };
  dimensions: { scriptName?: string; datetimeHour?: string };
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

async function readRows(
  account: string,
  dimension: "scriptName" | "datetimeHour",
  filter: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Row[]> {
  const query = `query ($account: string!, $filter: AccountWorkersInvocationsAdaptiveFilter_InputObject) {
    viewer { accounts(filter: { accountTag: $account }) {
      workersInvocationsAdaptive(limit: 1000, filter: $filter) {
        sum { requests errors } quantiles { cpuTimeP50 cpuTimeP99 } dimensions { ${dimension} }
      }
    } }
  }`;
  const response = await api.raw("POST", "/graphql", { body: { query, variables: { account, filter } }, signal });
  const { data, errors } = (await response.json()) as {
    data: { viewer: { accounts: { workersInvocationsAdaptive: Row[] }[] } } | null;
    errors: { message: string }[] | null;
  };
  if (data === null)
    throw new ApiError(errors?.[0]?.message ?? "The server returned no metrics. Reload the page.", { status: 200 });
  return data.viewer.accounts[0]?.workersInvocationsAdaptive ?? [];
}

const toMetrics = ({ sum, quantiles }: Row): WorkerMetrics => ({
  ...sum,
  cpuP50: milliseconds(quantiles.cpuTimeP50),
  cpuP99: milliseconds(quantiles.cpuTimeP99),
});
const milliseconds = (us: number | null) => (us === null ? null : us / 1000);

/** Returns metrics of the last 24 hours by worker. Workers without invocations are omitted. */
export const metricsQuery = (account: string, names: readonly string[]) =>
  queryOptions({
    queryKey: ["workers", account, "metrics", names],
    enabled: names.length > 0,
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, WorkerMetrics>> => {
      const since = new Date(Date.now() - DAY_MS).toISOString();
      const rows = await readRows(account, "scriptName", { datetime_geq: since, scriptName_in: names }, signal);
      return new Map(rows.map((row) => [row.dimensions.scriptName!, toMetrics(row)]));
    },
  });

/** Returns metrics of one worker for each of the last 24 hours. */
export const hourlyQuery = (account: string, name: string) =>
  queryOptions({
    queryKey: ["workers", account, "worker", name, "hourly"],
    queryFn: async ({ signal }): Promise<{ at: number; metrics: WorkerMetrics | undefined }[]> => {
      const last = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
      const hours = Array.from({ length: 24 }, (_, index) => last - (23 - index) * HOUR_MS);
      const since = new Date(hours[0]!).toISOString();
      const rows = await readRows(account, "datetimeHour", { datetime_geq: since, scriptName: name }, signal);
      const byHour = new Map(rows.map((row) => [Date.parse(row.dimensions.datetimeHour!), toMetrics(row)]));
      return hours.map((at) => ({ at, metrics: byHour.get(at) }));
    },
  });

/** `0.8 ms` */
export const formatCpu = (ms: number | null | undefined): string =>
  ms === null || ms === undefined ? "–" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
