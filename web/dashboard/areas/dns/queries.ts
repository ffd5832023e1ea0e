import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type Zone = ResultOf<"GET", "/zones/{zone_id}">;
export type DnsRecord = ResultOf<"GET", "/zones/{zone_id}/dns_records/{dns_record_id}">;

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const dnsKeys = {
  zones: ["dns", "zones"] as const,
  zone: (zoneId: string) => ["dns", "zone", zoneId] as const,
  records: (zoneId: string) => ["dns", "zone", zoneId, "records"] as const,
  verification: (zoneId: string) => ["dns", "zone", zoneId, "verification"] as const,
};

export const zoneQuery = (zoneId: string) =>
  queryOptions({
    queryKey: [...dnsKeys.zone(zoneId), "details"],
    queryFn: () => api.get("/zones/{zone_id}", { path: { zone_id: zoneId } }),
  });
