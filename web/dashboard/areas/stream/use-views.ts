import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";

/** Views of the last 30 days by uid, of the most viewed videos. */
export function useViews(account: string): ReadonlyMap<string, number> {
  const { data } = useQuery({
    queryKey: ["stream", account, "views"],
    queryFn: async () => {
      const { items } = await api.get("/accounts/{account_id}/stream/analytics/top", {
        path: { account_id: account },
        query: { by: "video", limit: 100, since: new Date(Date.now() - 30 * 86_400_000).toISOString() },
      });
      return new Map(items.map(({ value, views }) => [value, views]));
    },
    staleTime: 60_000,
  });
  return data ?? new Map();
}
