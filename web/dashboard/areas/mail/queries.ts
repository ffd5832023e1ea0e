import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type LogEntry = ResultOf<"GET", "/accounts/{account_id}/email/activity">[number];
export type Message = ResultOf<"GET", "/accounts/{account_id}/email/activity/{entry_id}">;
export type Rule = ResultOf<"GET", "/zones/{zone_id}/email/routing/rules">[number];
/** Keys of the queries: a prefix invalidates all below it. */
export const mailKeys = {
  log: ["mail", "log"] as const,
  message: (entryId: string) => ["mail", "log", "message", entryId] as const,
  rules: (zoneId: string) => ["mail", "domains", zoneId, "rules"] as const,
};

/** Names of the workers of the account that have an `email()` handler. */
export const emailWorkersQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["mail", "workers", accountId],
    queryFn: async () =>
      (
        await api.list("/accounts/{account_id}/workers/scripts", {
          path: { account_id: accountId },
          query: { per_page: 1000 },
        })
      ).items
        .filter(({ handlers }) => handlers.includes("email"))
        .map(({ id }) => id),
  });
