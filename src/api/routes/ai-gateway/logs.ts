import { z } from "@hono/zod-openapi";
import { aiGatewayErrors, aiGatewayLimits, type AiGatewayLog } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Call, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  GATEWAY_PATH,
  logDetailsShape,
  logShape,
  GATEWAY_READ_OPTIONS,
  shownLog,
  shownLogDetails,
  GATEWAY_WRITE_OPTIONS,
  type AiGatewayRouteDeps,
} from "./shapes.ts";

const LOGS_PATH = `${GATEWAY_PATH}/logs`;
const LOG_PATH = `${LOGS_PATH}/{id}`;

const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .optional();
const direction = z.enum(["asc", "desc"]).optional();
const order = { order_by: z.literal("created_at").optional(), order_by_direction: direction };
const filter = { success: flag, cached: flag, provider: z.string().optional(), model: z.string().optional() };

/**
 * Rejects filters that this server ignores: a deletion with such a filter would delete other logs. Throws
 * unsupportedSetting.
 */
function rejectFilters({ request }: Pick<Call, "request">): void {
  const field = [...new URL(request.url).searchParams.keys()].find((name) => name.startsWith("filters"));
  if (field !== undefined) throw aiGatewayErrors.unsupportedSetting({ field });
}

const gatewayOf = (params: Record<string, string>): [account: string, gateway: string] => [
  params.account_id!,
  params.gateway_id!,
];

/** Returns the payload: parsed as JSON if possible, otherwise as text. Throws payloadMissing. */
function payloadOf(
  { id, requestHead, requestComplete, responseHead, responseComplete }: AiGatewayLog,
  payload: "request" | "response",
): unknown {
  const [head, isComplete] = payload === "request" ? [requestHead, requestComplete] : [responseHead, responseComplete];
  if (!isComplete || head === "")
    throw aiGatewayErrors.payloadMissing({ payload, log: id, limit: aiGatewayLimits.headChars });
  try {
    return JSON.parse(head);
  } catch {
    return head;
  }
}

/** Operations on the logs of a gateway. */
export const logRoutes = ({ gateways }: AiGatewayRouteDeps): Route[] => [
  route(
    {
      ...GATEWAY_READ_OPTIONS,
      id: "aig-config-list-gateway-logs",
      method: "get",
      path: LOGS_PATH,
      summary: "List Gateway Logs",
      query: z.object({ ...pageQuery({ perPage: 20, max: 100 }), ...filter, ...order, direction }),
      result: z.array(logShape),
    },
    async (call) => {
      rejectFilters(call);
      const { params, query } = call;
      const page = pageRequest(query);
      const wanted = { ...query, direction: query.order_by_direction ?? query.direction };
      return respondWithPage(await gateways.logs(...gatewayOf(params), page, wanted), page, shownLog);
    },
  ),
  route(
    {
      ...GATEWAY_WRITE_OPTIONS,
      id: "aig-config-delete-gateway-logs",
      method: "delete",
      path: LOGS_PATH,
      summary: "Delete Gateway Logs",
      audit: { before: false },
      query: z.object({ ...filter, ...order, limit: z.coerce.number().int().min(1).optional() }),
      result: z.object({ success: z.boolean() }),
    },
    async (call) => {
      rejectFilters(call);
      const { params, query } = call;
      const wanted = { ...query, direction: query.order_by_direction };
      await gateways.deleteLogs(...gatewayOf(params), wanted, query.limit);
      return respond({ success: true });
    },
  ),
  route(
    {
      ...GATEWAY_READ_OPTIONS,
      id: "aig-config-get-gateway-log-detail",
      method: "get",
      path: LOG_PATH,
      summary: "Get Gateway Log Detail",
      result: logDetailsShape,
    },
    async ({ params }) => respond(shownLogDetails(await gateways.log(...gatewayOf(params), params.id!))),
  ),
  route(
    {
      ...GATEWAY_WRITE_OPTIONS,
      id: "aig-config-patch-gateway-log",
      method: "patch",
      path: LOG_PATH,
      summary: "Patch Gateway Log",
      audit: false,
      body: z.object({
        feedback: z.number().nullish(),
        score: z.number().nullish(),
        metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullish(),
      }),
      result: z.object({}),
    },
    async ({ params, body: { feedback, score, metadata } }) => {
      await gateways.patchLog(...gatewayOf(params), params.id!, {
        ...(feedback !== undefined && { feedback }),
        ...(score !== undefined && { score }),
        ...(metadata !== undefined && { metadata }),
      });
      return respond({});
    },
  ),
  ...(["request", "response"] as const).map((payload) =>
    route(
      {
        ...GATEWAY_READ_OPTIONS,
        id: `aig-config-get-gateway-log-${payload}`,
        method: "get",
        path: `${LOG_PATH}/${payload}`,
        summary: `Get Gateway Log ${payload === "request" ? "Request" : "Response"}`,
        result: z.unknown(),
      },
      async ({ params }) => respond(payloadOf(await gateways.log(...gatewayOf(params), params.id!), payload)),
    ),
  ),
];
