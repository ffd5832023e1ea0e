import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export interface ScriptPath extends Record<string, string> {
  account_id: string;
  script_name: string;
}

export type Script = ResultOf<"GET", "/accounts/{account_id}/workers/scripts-search">[number];
export type Version = ResultOf<"GET", "/accounts/{account_id}/workers/scripts/{script_name}/versions">["items"][number];
export type Deployment = ResultOf<
  "GET",
  "/accounts/{account_id}/workers/scripts/{script_name}/deployments"
>["deployments"][number];

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const workersKeys = {
  list: (account: string) => ["workers", account, "list"] as const,
  worker: ({ account_id: account, script_name: name }: ScriptPath) => ["workers", account, "worker", name] as const,
};

const NEWEST_VERSIONS = 100;

export const versionsQuery = (path: ScriptPath) =>
  queryOptions({
    queryKey: [...workersKeys.worker(path), "versions"],
    queryFn: async () =>
      (
        await api.get("/accounts/{account_id}/workers/scripts/{script_name}/versions", {
          path,
          query: { per_page: NEWEST_VERSIONS },
        })
      ).items,
  });

export const deploymentsQuery = (path: ScriptPath) =>
  queryOptions({
    queryKey: [...workersKeys.worker(path), "deployments"],
    queryFn: async () =>
      (
        await api.get("/accounts/{account_id}/workers/scripts/{script_name}/deployments", {
          path,
          query: { per_page: 20 },
        })
      ).deployments,
  });

export const settingsQuery = (path: ScriptPath) =>
  queryOptions({
    queryKey: [...workersKeys.worker(path), "settings"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/settings", { path }),
  });

/** `3f2a91c0`: the first characters of a version id, as `wrangler` shows it. */
export const shortId = (id: string): string => id.slice(0, 8);

/** Returns the comment of a version or deployment. */
export const messageOf = (annotations: Record<string, string>): string => annotations["workers/message"] ?? "";
