import { z } from "@hono/zod-openapi";
import { AI_GATEWAY_PREFIX } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  GATEWAY_PATH,
  GATEWAYS_PATH,
  gatewayShape,
  newGatewayBody,
  GATEWAY_READ_OPTIONS,
  settingsBody,
  toGatewaySettings,
  shownGateway,
  GATEWAY_WRITE_OPTIONS,
  type AiGatewayRouteDeps,
} from "./shapes.ts";

/** Operations on gateways. An update keeps the settings that the body omits. */
export const gatewayRoutes = ({ gateways, origin }: AiGatewayRouteDeps): Route[] => [
  route(
    {
      ...GATEWAY_READ_OPTIONS,
      id: "aig-config-list-gateway",
      method: "get",
      path: GATEWAYS_PATH,
      summary: "List Gateways",
      query: z.object({ ...pageQuery({ perPage: 20, max: 100 }), search: z.string().optional() }),
      result: z.array(gatewayShape),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      return respondWithPage(await gateways.list(params.account_id!, page, query.search), page, shownGateway);
    },
  ),
  route(
    {
      ...GATEWAY_WRITE_OPTIONS,
      id: "aig-config-create-gateway",
      method: "post",
      path: GATEWAYS_PATH,
      summary: "Create a new Gateway",
      body: newGatewayBody,
      result: gatewayShape,
    },
    async ({ params, body }) =>
      respond(shownGateway(await gateways.create(params.account_id!, body.id, toGatewaySettings(body)))),
  ),
  route(
    {
      ...GATEWAY_READ_OPTIONS,
      id: "aig-config-fetch-gateway",
      method: "get",
      path: GATEWAY_PATH,
      summary: "Fetch a Gateway",
      result: gatewayShape,
    },
    async ({ params }) => respond(shownGateway(await gateways.get(params.account_id!, params.gateway_id!))),
  ),
  route(
    {
      ...GATEWAY_WRITE_OPTIONS,
      id: "aig-config-update-gateway",
      method: "put",
      path: GATEWAY_PATH,
      summary: "Update a Gateway",
      body: settingsBody,
      result: gatewayShape,
    },
    async ({ params, body }) => {
      const [account, id] = [params.account_id!, params.gateway_id!];
      const settings = toGatewaySettings(body, await gateways.get(account, id));
      return respond(shownGateway(await gateways.update(account, id, settings)));
    },
  ),
  route(
    {
      ...GATEWAY_WRITE_OPTIONS,
      id: "aig-config-delete-gateway",
      method: "delete",
      path: GATEWAY_PATH,
      summary: "Delete a Gateway",
      result: gatewayShape,
    },
    async ({ params }) => respond(shownGateway(await gateways.delete(params.account_id!, params.gateway_id!))),
  ),
  route(
    {
      ...GATEWAY_READ_OPTIONS,
      id: "aig-config-get-gateway-url",
      method: "get",
      path: `${GATEWAY_PATH}/url/{provider}`,
      summary: "Get Gateway URL",
      result: z.string(),
    },
    async (call) => {
      const { account_id: account, gateway_id: id, provider } = call.params;
      await gateways.get(account!, id!);
      return respond(`${origin(call)}${AI_GATEWAY_PREFIX}${account}/${id}/${encodeURIComponent(provider!)}`);
    },
  ),
];
