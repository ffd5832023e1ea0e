import { z } from "@hono/zod-openapi";
import type { Role } from "../../accounts/index.ts";

const AREAS = [
  "analytics",
  "billing",
  "cache_purge",
  "dns",
  "dns_records",
  "lb",
  "logs",
  "organization",
  "ssl",
  "waf",
  "zone_settings",
  "zones",
] as const;

const grants = z.object({ read: z.boolean(), write: z.boolean() });
/** Areas of the hosted service, with what a role may do in them. */
export const areaPermissionsResult = z.record(z.enum(AREAS), grants);

export const areaPermissionsOf = (role: Role) =>
  Object.fromEntries(
    AREAS.map((area) => [
      area,
      { read: true, write: area === "organization" ? role === "administrator" : role !== "viewer" },
    ]),
  ) as Record<(typeof AREAS)[number], z.infer<typeof grants>>;
