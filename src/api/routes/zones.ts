import { z } from "@hono/zod-openapi";
import type { Accounts, Caller, Permission } from "../../accounts/index.ts";
import type { TextOperator, ZoneQuery, Zones } from "../../zones/index.ts";
import { noChosenIds, type ChosenIds } from "../chosen-id.ts";
import { apiErrors } from "../errors.ts";
import { hiddenZones } from "../hidden-zones.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageRequest } from "../paging.ts";
import { createZoneBody, showZone, updateZoneBody, zoneListQuery, zoneSchema } from "./zone-schemas.ts";

interface ZoneRoutesDeps {
  zones: Zones;
  accounts: Pick<Accounts, "list">;
  /** Default: ids cannot be chosen. */
  chosenIds?: ChosenIds;
}

const TAG = "Zone";
/** Maximum number of accounts per token whose names are resolved. */
const MAX_ACCOUNTS = 500;
/** Maximum number of zones per account that are checked for a token limited to single zones. */
const MAX_CHECKED_ZONES = 1000;

export function zonesRoutes({ zones, accounts, chosenIds = noChosenIds }: ZoneRoutesDeps): Route[] {
  const namesOf = async (caller: Caller) =>
    new Map((await accounts.list(caller, { page: 1, perPage: MAX_ACCOUNTS })).items.map(({ id, name }) => [id, name]));
  const show = async (zone: Parameters<typeof showZone>[0], caller: Caller) =>
    showZone(zone, (await namesOf(caller)).get(zone.account) ?? "");

  return [
    route(
      {
        id: "zones-get",
        method: "get",
        path: "/zones",
        tag: TAG,
        summary: "List zones",
        permission: null,
        query: zoneListQuery,
        result: z.array(zoneSchema),
      },
      async ({ query, caller }) => {
        const names = await namesOf(caller);
        const { name, status, type, order, direction, match } = query;
        const filters = [
          ...(query["account.id"] === undefined ? [] : [[query["account.id"]]]),
          ...(query["account.name"] === undefined
            ? []
            : [[...names].filter(([, text]) => matches(text, query["account.name"]!)).map(([id]) => id)]),
        ];
        const wanted: ZoneQuery = {
          visible: await visibleTo(caller, zones),
          name,
          status,
          types: type,
          inAccounts: filters,
          any: match === "any",
          order,
          direction,
          accountOrder: [...names].sort(([, a], [, b]) => (a < b ? -1 : 1)).map(([id]) => id),
        };
        const page = pageRequest(query);
        return respondWithPage(await zones.list(wanted, page), page, (zone) =>
          showZone(zone, names.get(zone.account) ?? ""),
        );
      },
    ),
    route(
      {
        id: "zones-post",
        method: "post",
        path: "/zones",
        tag: TAG,
        summary: "Create a zone",
        chosenId: "hex",
        permission: null,
        audit: { account: ({ after }) => (after as z.input<typeof zoneSchema>).account.id ?? undefined },
        body: createZoneBody,
        result: zoneSchema,
      },
      async (call) => {
        const { body, caller } = call;
        const account = body.account?.id ?? (caller.accounts.length === 1 ? caller.accounts[0] : undefined);
        if (account === undefined)
          throw apiErrors.badRequest({
            reason: "Invalid request body: account.id: required, because the token has access to several accounts",
          });
        if (!caller.accounts.includes(account) || !caller.allows("Zone Write", { account }))
          throw apiErrors.notAllowed({ permission: '"Zone Write"' });
        const id = await chosenIds.of(call, "hex");
        return respond(
          await show(await zones.create({ account, name: body.name, type: body.type ?? undefined, id }), caller),
        );
      },
    ),
    route(
      {
        id: "zones-0-get",
        method: "get",
        path: "/zones/{zone_id}",
        tag: TAG,
        summary: "Get a zone",
        permission: null,
        result: zoneSchema,
      },
      async ({ params, caller }) => {
        const zone = await zones.get(params.zone_id!);
        if (!READERS.some((permission) => caller.allows(permission, { zone: zone.id, account: zone.account })))
          throw apiErrors.notAllowed({ permission: '"Zone Read"' });
        return respond(await show(zone, caller));
      },
    ),
    route(
      {
        id: "zones-0-patch",
        method: "patch",
        path: "/zones/{zone_id}",
        tag: TAG,
        summary: "Update a zone",
        permission: "Zone Write",
        body: updateZoneBody,
        result: zoneSchema,
      },
      async ({ params, body, caller }) =>
        respond(
          await show(
            await zones.update(params.zone_id!, {
              paused: body.paused ?? undefined,
              type: body.type ?? undefined,
              vanityNameServers: body.vanity_name_servers ?? undefined,
            }),
            caller,
          ),
        ),
    ),
    route(
      {
        id: "zones-0-delete",
        method: "delete",
        path: "/zones/{zone_id}",
        tag: TAG,
        summary: "Delete a zone and its records",
        permission: "Zone Write",
        result: z.object({ id: z.string() }),
      },
      async ({ params }) => {
        await zones.delete(params.zone_id!);
        return respond({ id: params.zone_id! });
      },
    ),
  ];
}

/** Any permission for a zone allows reading the zone itself, as in the hosted API. */
const READERS: Permission[] = [
  "Zone Read",
  "DNS Read",
  "Zone Settings Read",
  "Workers Scripts Read",
  "Workers Routes Read",
  "Stream Read",
  "Email Routing Rules Read",
  "Email Sending Read",
];

async function visibleTo(caller: Caller, zones: Zones): Promise<ZoneQuery["visible"]> {
  const readableAccounts = caller.accounts.filter((account) => caller.allows("Zone Read", { account }));
  const readableZones: string[] = [];
  for (const account of caller.accounts) {
    if (readableAccounts.includes(account)) continue;
    const ids = await zones.idsOf(account, MAX_CHECKED_ZONES);
    readableZones.push(...ids.filter((zone) => caller.allows("Zone Read", { zone, account })));
  }
  const hidden = [...new Set(readableAccounts.flatMap((account) => hiddenZones(caller, account, "Zone Read")))];
  return { accounts: readableAccounts, zones: readableZones, hidden };
}

function matches(
  name: string,
  { operator, text, caseSensitive }: { operator: TextOperator; text: string; caseSensitive: boolean },
): boolean {
  const [value, wanted] = caseSensitive ? [name, text] : [name.toLowerCase(), text.toLowerCase()];
  if (operator === "equal") return value === wanted;
  if (operator === "not_equal") return value !== wanted;
  if (operator === "starts_with") return value.startsWith(wanted);
  return operator === "ends_with" ? value.endsWith(wanted) : value.includes(wanted);
}
