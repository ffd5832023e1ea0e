import { z } from "@hono/zod-openapi";
import type { DkimKey } from "../../../mail/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import type { EmailRoutingDeps } from "./routing-settings.ts";

const tag = "Email Routing settings";
const time = z.iso.datetime();
const keySchema = z.object({
  id: z.string(),
  domain: z.string(),
  selector: z.string(),
  algorithm: z.enum(["rsa", "ed25519"]),
  state: z.enum(["next", "active", "retired"]),
  created: time,
  retired: time.nullable(),
});

const showKey = ({
  id,
  domain,
  selector,
  algorithm,
  state,
  createdAt,
  retiredAt,
}: DkimKey): z.input<typeof keySchema> => ({
  id,
  domain,
  selector,
  algorithm,
  state,
  created: new Date(createdAt).toISOString(),
  retired: retiredAt === null ? null : new Date(retiredAt).toISOString(),
});

/** Keys that sign a zone's forwarded mail. An extension: the hosted service does not expose its keys. */
export const routingDkimRoutes = ({ zones, routing: { dns, dkimKeys } }: EmailRoutingDeps): Route[] => [
  route(
    {
      id: "email-routing-dkim-keys",
      method: "get",
      path: "/zones/{zone_id}/email/routing/dkim",
      tag,
      summary: "List the DKIM keys of a routed domain",
      permission: "Zone Settings Read",
      query: z.object({ subdomain: z.string().max(255).optional() }),
      result: z.array(keySchema),
    },
    async ({ params, query: { subdomain } }) => {
      const zone = await zones.get(params.zone_id!);
      const domain = (await dns.needed(zone, subdomain))[0]!.name;
      return respond((await dkimKeys.list({ zone: zone.id, domain, use: "routing" })).map(showKey));
    },
  ),
  route(
    {
      id: "email-routing-dkim-rotate",
      method: "post",
      path: "/zones/{zone_id}/email/routing/dkim/rotate",
      tag,
      permission: "Zone Settings Write",
      summary:
        "Rotate the DKIM keys of a routed domain; the new keys are published first and sign once resolvers see them",
      body: z.object({ name: z.string().nullish() }).nullable(),
      bodyOptional: true,
      result: z.array(keySchema),
    },
    async ({ params, body }) => {
      const zone = await zones.get(params.zone_id!);
      await dns.rotateDkim(zone, body?.name ?? undefined);
      const domain = (await dns.needed(zone, body?.name ?? undefined))[0]!.name;
      return respond((await dkimKeys.list({ zone: zone.id, domain, use: "routing" })).map(showKey));
    },
  ),
];
