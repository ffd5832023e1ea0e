import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type LogEntry = ResultOf<"GET", "/accounts/{account_id}/email/activity">[number];
export type Message = ResultOf<"GET", "/accounts/{account_id}/email/activity/{entry_id}">;
export type RoutingZone = ResultOf<"GET", "/zones/{zone_id}/email/routing">;
export type Rule = ResultOf<"GET", "/zones/{zone_id}/email/routing/rules">[number];
export type Address = ResultOf<"GET", "/accounts/{account_id}/email/routing/addresses">[number];
export type QueuedMessage = ResultOf<"GET", "/accounts/{account_id}/email/queue">[number];
export type SendingDomain = ResultOf<"GET", "/zones/{zone_id}/email/sending/subdomains">[number];
export type Suppression = ResultOf<"GET", "/accounts/{account_id}/email/sending/suppressions">[number];
/** A DNS record that mail needs. */
export interface RequiredRecord {
  type: "MX" | "TXT";
  name: string;
  content: string;
  priority?: number;
  ttl: number;
}

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const mailKeys = {
  log: ["mail", "log"] as const,
  message: (entryId: string) => ["mail", "log", "message", entryId] as const,
  domains: ["mail", "domains"] as const,
  domain: (zoneId: string) => ["mail", "domains", zoneId] as const,
  rules: (zoneId: string) => ["mail", "domains", zoneId, "rules"] as const,
  sending: (zoneId: string) => ["mail", "domains", zoneId, "sending"] as const,
  addresses: ["mail", "addresses"] as const,
  queue: ["mail", "queue"] as const,
  suppressions: ["mail", "suppressions"] as const,
};

export const routingQuery = (zoneId: string) =>
  queryOptions({
    queryKey: [...mailKeys.domain(zoneId), "routing"],
    queryFn: () => api.get("/zones/{zone_id}/email/routing", { path: { zone_id: zoneId } }),
  });

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

export const addressesQuery = (accountId: string) =>
  queryOptions({
    queryKey: [...mailKeys.addresses, accountId, "all"],
    queryFn: async () =>
      (
        await api.list("/accounts/{account_id}/email/routing/addresses", {
          path: { account_id: accountId },
          query: { per_page: 50 },
        })
      ).items,
  });
