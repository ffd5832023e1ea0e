import { z } from "@hono/zod-openapi";
import type { RoutingZone, WorkerRoute } from "../../../workers/index.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { apiErrors } from "../../errors.ts";
import { routingNotices } from "./notices.ts";
import {
  ENVIRONMENT_PATH,
  isOn,
  accountAndScript,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";

const ROUTES_PATH = "/zones/{zone_id}/workers/routes";
const ROUTE_PATH = `${ROUTES_PATH}/{route_id}`;
const readingRoutes = { tag: "Workers", permission: "Workers Routes Read" } as const;
const writingRoutes = { tag: "Workers", permission: "Workers Routes Write" } as const;

const routeSchema = z.object({ id: z.string(), pattern: z.string(), script: z.string().optional() });
const scriptRouteSchema = routeSchema.extend({ zone_id: z.string(), zone_name: z.string() });
/** A route without a script disables workers for its pattern. */
const routeRequest = z.object({ pattern: z.string(), script: z.string().nullish() });
const scriptRoutesRequest = z
  .array(z.object({ pattern: z.string(), zone_id: z.string().optional(), zone_name: z.string().optional() }))
  .max(1000);

const showRoute = ({ id, pattern, script }: WorkerRoute) => ({ id, pattern, ...(script !== undefined && { script }) });
const showRouteWithZone = (zoneRoute: WorkerRoute & { zoneName: string }) => ({
  ...showRoute(zoneRoute),
  zone_id: zoneRoute.zone,
  zone_name: zoneRoute.zoneName,
});
const toRouteChange = ({ pattern, script }: z.infer<typeof routeRequest>) => ({ pattern, script: script || undefined });

/** Throws notAuthenticated if the token may not change the routes of one of the zones. */
function checkZones({ caller }: Call, zones: readonly RoutingZone[]): void {
  const isDenied = zones.some(({ id, account }) => !caller.allows("Workers Routes Write", { zone: id, account }));
  // Clients then create the routes one by one.
  if (isDenied) throw apiErrors.notAuthenticated();
}

/** Operations on the routes of a zone and of a worker. */
export const routeRoutes = ({ routing: { routes, isActive } }: WorkerRoutesDeps): Route[] => [
  route(
    {
      ...readingRoutes,
      id: "worker-routes-list-routes",
      method: "get",
      path: ROUTES_PATH,
      summary: "List Routes",
      result: z.array(routeSchema),
    },
    async ({ params }) => respond((await routes.list(params.zone_id!)).map(showRoute)),
  ),
  route(
    {
      ...writingRoutes,
      id: "worker-routes-create-route",
      method: "post",
      path: ROUTES_PATH,
      summary: "Create Route",
      body: routeRequest,
      result: routeSchema,
    },
    async ({ params, body }) =>
      respond(showRoute(await routes.create(params.zone_id!, toRouteChange(body))), {
        messages: routingNotices({ isActive }),
      }),
  ),
  route(
    {
      ...readingRoutes,
      id: "worker-routes-get-route",
      method: "get",
      path: ROUTE_PATH,
      summary: "Get Route",
      result: routeSchema,
    },
    async ({ params }) => respond(showRoute(await routes.get(params.zone_id!, params.route_id!))),
  ),
  route(
    {
      ...writingRoutes,
      id: "worker-routes-update-route",
      method: "put",
      path: ROUTE_PATH,
      summary: "Update Route",
      body: routeRequest,
      result: routeSchema,
    },
    async ({ params, body }) =>
      respond(showRoute(await routes.update(params.zone_id!, params.route_id!, toRouteChange(body))), {
        messages: routingNotices({ isActive }),
      }),
  ),
  route(
    {
      ...writingRoutes,
      id: "worker-routes-delete-route",
      method: "delete",
      path: ROUTE_PATH,
      summary: "Delete Route",
      result: z.object({ id: z.string() }),
    },
    async ({ params }) => {
      await routes.delete(params.zone_id!, params.route_id!);
      return respond({ id: params.route_id! });
    },
  ),

  ...[SCRIPT, ENVIRONMENT_PATH].map((path) =>
    route(
      {
        ...WORKER_READ_OPTIONS,
        id: path === SCRIPT ? "worker-script-list-routes" : "worker-environment-list-routes",
        method: "get",
        path: `${path}/routes`,
        summary: path === SCRIPT ? "List routes of a Worker" : "List routes of an environment",
        query: z.object({ show_zonename: z.string().optional() }),
        result: z.array(scriptRouteSchema),
      },
      async ({ params }) => respond((await routes.listByScript(...accountAndScript(params))).map(showRouteWithZone)),
    ),
  ),
  // With `validate`, only checks the routes, even if the worker does not exist yet: a deploy does so before the upload.
  route(
    {
      ...WORKER_WRITE_OPTIONS,
      id: "worker-script-put-routes",
      method: "put",
      path: `${SCRIPT}/routes`,
      summary: "Replace the routes of a Worker",
      query: z.object({ validate: z.string().optional() }),
      body: scriptRoutesRequest,
      result: z.array(scriptRouteSchema),
    },
    async (call) => {
      const patterns = call.body.map(({ pattern, zone_id: zoneId, zone_name: zoneName }) => ({
        pattern,
        zoneId,
        zoneName,
      }));
      const accountScript = accountAndScript(call.params);
      checkZones(call, await routes.plan(...accountScript, patterns));
      if (isOn(call.query.validate)) return respond([]);
      const replaced = await routes.replace(...accountScript, patterns);
      return respond(replaced.map(showRouteWithZone), {
        messages: replaced.length > 0 ? routingNotices({ isActive }) : [],
      });
    },
  ),
];
