import { z } from "@hono/zod-openapi";
import { respond, route, type Route } from "../../operation.ts";
import { neededRecordSchema, showNeededRecord } from "./routing-schemas.ts";
import type { EmailRoutingDeps } from "./routing-settings.ts";

const examinedSchema = z.object({
  errors: z.array(
    z.object({ code: z.string(), missing: neededRecordSchema.optional(), existing: neededRecordSchema.optional() }),
  ),
  record: z.array(neededRecordSchema),
});

/**
 * The records required for routing. With the deprecated `subdomain`, the response also contains problems with existing
 * records.
 */
export const routingDnsRoutes = ({ zones, routing: { dns } }: EmailRoutingDeps): Route[] => [
  route(
    {
      id: "email-routing-settings-email-routing-dns-settings",
      method: "get",
      path: "/zones/{zone_id}/email/routing/dns",
      tag: "Email Routing settings",
      summary: "List the DNS records that Email Routing needs",
      permission: "Zone Settings Read",
      query: z.object({ subdomain: z.string().max(255).optional() }),
      result: z.union([z.array(neededRecordSchema), examinedSchema]),
    },
    async ({ params, query: { subdomain } }) => {
      const zone = await zones.get(params.zone_id!);
      const needed = (await dns.needed(zone, subdomain)).map(showNeededRecord);
      if (subdomain === undefined || subdomain === "")
        return respond(needed, {
          info: { page: 1, per_page: needed.length, count: needed.length, total_count: needed.length, total_pages: 1 },
        });
      const { problems } = await dns.examine(zone, needed[0]!.name);
      return respond({ errors: problems, record: needed });
    },
  ),
];
