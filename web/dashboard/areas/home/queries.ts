import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type Health = ResultOf<"GET", "/accounts/{account_id}/health">;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Not every change of the charts or the health sends an event, so the page polls. */
const REFRESH_MS = 60_000;

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const homeKeys = {
  all: ["home"] as const,
  health: ["home", "health"] as const,
  metrics: ["home", "metrics"] as const,
  steps: ["home", "steps"] as const,
};

/** Start of the last 24 hours, aligned to a full hour. */
const lastDay = () => new Date(Math.floor((Date.now() - DAY_MS) / HOUR_MS) * HOUR_MS + HOUR_MS).toISOString();

export const healthQuery = (account: string) =>
  queryOptions({
    queryKey: [...homeKeys.health, account],
    queryFn: () => api.get("/accounts/{account_id}/health", { path: { account_id: account } }),
    refetchInterval: REFRESH_MS,
  });

export const mailMetricsQuery = (account: string) =>
  queryOptions({
    queryKey: [...homeKeys.metrics, "mail", account],
    queryFn: () =>
      api.get("/accounts/{account_id}/email/analytics", {
        path: { account_id: account },
        query: { since: lastDay(), time_delta: "hour" },
      }),
    refetchInterval: REFRESH_MS,
  });

export const streamMetricsQuery = (account: string) =>
  queryOptions({
    queryKey: [...homeKeys.metrics, "stream", account],
    queryFn: () =>
      api.get("/accounts/{account_id}/stream/analytics/series", {
        path: { account_id: account },
        query: { since: lastDay(), time_delta: "hour" },
      }),
    refetchInterval: REFRESH_MS,
  });

interface WorkersPoint {
  /** Seconds since 1970. */
  ts: number;
  requests: number;
  errors: number;
}

interface InvocationsResponse {
  data: {
    viewer: {
      accounts: {
        workersInvocationsAdaptive: {
          sum: { requests: number; errors: number };
          dimensions: { datetimeHour: string };
        }[];
      }[];
    };
  } | null;
  errors: { message: string }[] | null;
}

const INVOCATIONS = `query Invocations($account: string!, $since: Time!) {
  viewer {
    accounts(filter: { accountTag: $account }) {
      workersInvocationsAdaptive(limit: 100, filter: { datetime_geq: $since }, orderBy: [datetimeHour_ASC]) {
        sum { requests errors }
        dimensions { datetimeHour }
      }
    }
  }
}`;

/** Invocations per hour; hours without one are zero. */
export const workersMetricsQuery = (account: string) =>
  queryOptions({
    queryKey: [...homeKeys.metrics, "workers", account],
    async queryFn(): Promise<WorkersPoint[]> {
      const since = lastDay();
      const response = await api.raw("POST", "/graphql", {
        body: { query: INVOCATIONS, variables: { account, since } },
      });
      const { data, errors } = (await response.json()) as InvocationsResponse;
      if (data === null) throw new Error(errors?.[0]?.message ?? "The server returned no metrics. Reload the page.");
      const byHour = new Map(
        (data.viewer.accounts[0]?.workersInvocationsAdaptive ?? []).map(({ sum, dimensions }) => [
          Date.parse(dimensions.datetimeHour),
          sum,
        ]),
      );
      const points: WorkersPoint[] = [];
      for (let hour = Date.parse(since); hour <= Date.now(); hour += HOUR_MS)
        points.push({ ts: hour / 1000, ...(byHour.get(hour) ?? { requests: 0, errors: 0 }) });
      return points;
    },
    refetchInterval: REFRESH_MS,
  });
