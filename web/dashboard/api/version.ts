import { queryOptions } from "@tanstack/react-query";
import { appInfo, readAppInfo } from "./app-info.ts";
import { authorization } from "./client.ts";

/** The version of the server, which it reveals only to signed-in users. */
export const versionQuery = queryOptions({
  queryKey: ["version"],
  queryFn: async () => appInfo().version ?? (await readAppInfo(authorization())).version ?? "",
  staleTime: 300_000,
});
