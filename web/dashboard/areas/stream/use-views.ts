import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Video } from "./queries.ts";

/** Returns the views of the last 30 days by uid; videos without views are omitted. At most 100 videos. */
export function useViews(account: string, videos: readonly Pick<Video, "uid">[]): ReadonlyMap<string, number> {
  const uids = videos.map(({ uid }) => uid).toSorted();
  const { data } = useQuery({
    queryKey: ["stream", account, "views", uids],
    queryFn: async () => {
      const { items } = await api.get("/accounts/{account_id}/stream/analytics/top", {
        path: { account_id: account },
        query: {
          by: "video",
          values: uids.join(","),
          limit: 100,
          since: new Date(Date.now() - 30 * 86_400_000).toISOString(),
        },
      });
      return new Map(items.map(({ value, views }) => [value, views]));
    },
    enabled: uids.length > 0,
    staleTime: 60_000,
  });
  return data ?? NO_VIEWS;
}

const NO_VIEWS: ReadonlyMap<string, number> = new Map();
