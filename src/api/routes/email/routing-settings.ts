import { z } from "@hono/zod-openapi";
import type { EmailRouting } from "../../../mail/index.ts";
import type { Zone, Zones } from "../../../zones/index.ts";
import { apiErrors } from "../../errors.ts";
import { hiddenZones } from "../../hidden-zones.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { textFilter } from "../zone-schemas.ts";
import { routingSettingsSchema, showSettings } from "./routing-schemas.ts";

export interface EmailRoutingDeps {
  zones: Pick<Zones, "get" | "find">;
  routing: EmailRouting;
}

const tag = "Email Routing settings";
const BASE = "/zones/{zone_id}/email/routing";
const change = z.object({
  enabled: z.boolean().nullish(),
  skip_wizard: z.boolean().nullish(),
  support_subaddress: z.boolean().nullish(),
});
/** The name to enable or disable; some clients send null or no body. */
const nameBody = z.object({ name: z.string().nullish() }).nullable();

/** Settings of Email Routing for a zone. */
export function routingSettingsRoutes({ zones, routing }: EmailRoutingDeps): Route[] {
  const { settings, dns } = routing;
  const answerSettings = async (zone: Zone) => respond(showSettings(await settings.of(zone)));
  const zoneOf = (params: Record<string, string>) => zones.get(params.zone_id!);

  const updateRoute = (method: "put" | "patch", id: string, summary: string) =>
    route(
      {
        id,
        method,
        path: BASE,
        tag,
        summary,
        permission: "Zone Settings Write",
        body: change,
        result: routingSettingsSchema,
      },
      async ({ params, body }) =>
        respond(
          showSettings(
            await settings.update(await zoneOf(params), {
              skipWizard: body.skip_wizard ?? undefined,
              supportSubaddress: body.support_subaddress ?? undefined,
            }),
          ),
        ),
    );

  const actionRoute = (
    method: "post" | "patch" | "delete",
    path: string,
    id: string,
    summary: string,
    act: (zone: Zone, name?: string) => Promise<void>,
  ) =>
    route(
      {
        id,
        method,
        path: `${BASE}/${path}`,
        tag,
        summary,
        permission: "Zone Settings Write",
        body: nameBody,
        bodyOptional: true,
        result: routingSettingsSchema,
      },
      async ({ params, body }) => {
        const zone = await zoneOf(params);
        await act(zone, body?.name ?? undefined);
        return answerSettings(zone);
      },
    );

  return [
    route(
      {
        id: "email-routing-settings-get-email-routing-settings",
        method: "get",
        path: BASE,
        tag,
        summary: "Get Email Routing settings",
        permission: "Zone Settings Read",
        result: routingSettingsSchema,
      },
      async ({ params }) => answerSettings(await zoneOf(params)),
    ),
    updateRoute(
      "patch",
      "email-routing-settings-update-email-routing-settings",
      "Update Email Routing settings; omitted fields keep their values",
    ),
    updateRoute(
      "put",
      "email-routing-settings-replace-email-routing-settings",
      "Update Email Routing settings; omitted fields keep their values",
    ),
    actionRoute(
      "post",
      "dns",
      "email-routing-settings-enable-email-routing-dns",
      "Enable Email Routing: create and lock the DNS records of the zone or a subdomain",
      dns.enable,
    ),
    actionRoute(
      "patch",
      "dns",
      "email-routing-settings-unlock-email-routing-dns",
      "Unlock the DNS records of Email Routing",
      dns.unlock,
    ),
    actionRoute(
      "delete",
      "dns",
      "email-routing-settings-disable-email-routing-dns",
      "Disable Email Routing and remove its DNS records",
      dns.disable,
    ),
    actionRoute(
      "post",
      "enable",
      "email-routing-settings-enable-email-routing",
      "Enable Email Routing (deprecated: POST dns)",
      dns.enable,
    ),
    actionRoute(
      "post",
      "disable",
      "email-routing-settings-disable-email-routing",
      "Disable Email Routing (deprecated: DELETE dns)",
      dns.disable,
    ),
    actionRoute(
      "post",
      "unlock",
      "email-routing-settings-unlock-email-routing",
      "Unlock the DNS records of Email Routing (deprecated: PATCH dns)",
      dns.unlock,
    ),
    route(
      {
        id: "email-routing-settings-connect-worker",
        method: "put",
        path: `${BASE}/settings`,
        tag,
        permission: "Zone Settings Write",
        result: routingSettingsSchema,
        summary: "Enable or disable Email Routing and route all mail that matches no other rule to a Worker",
        body: z.object({ enabled: z.boolean().default(true), worker: z.string().min(1).max(90).nullish() }),
      },
      async ({ params, body: { enabled, worker }, caller }) => {
        const zone = await zoneOf(params);
        if (worker != null && !caller.allows("Email Routing Rules Write", { zone: zone.id, account: zone.account }))
          throw apiErrors.notAllowed({ permission: '"Email Routing Rules Write"' });
        await routing.connect(zone, { enabled, worker: worker ?? undefined });
        return answerSettings(zone);
      },
    ),
    route(
      {
        id: "email-routing-settings-list-zones",
        method: "get",
        path: "/accounts/{account_id}/email/routing/zones",
        tag,
        summary: "List the Email Routing settings of an account's zones",
        permission: "Zone Settings Read",
        query: z.object({ name: textFilter.optional(), ...pageQuery({ max: 50 }) }),
        result: z.array(routingSettingsSchema),
      },
      async ({ params: { account_id: account }, query, caller }) => {
        const page = pageRequest(query);
        return respondWithPage(
          await settings.list(account!, page, {
            hidden: hiddenZones(caller, account!, "Zone Settings Read"),
            name: query.name,
          }),
          page,
          showSettings,
        );
      },
    ),
  ];
}
