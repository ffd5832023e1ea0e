import { z } from "@hono/zod-openapi";
import { answer, pageAnswer, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { ENVIRONMENT_PATH, reading, SCRIPT, WORKERS, writing } from "./common.ts";
import { workerRouteErrors } from "./errors.ts";

const ZONE_ROUTES = "/zones/{zone_id}/workers/routes";
const readingRoutes = { tag: "Workers", permission: "Workers Routes Read" } as const;
const writingRoutes = { tag: "Workers", permission: "Workers Routes Write" } as const;

type Access = typeof reading | typeof writing | typeof readingRoutes | typeof writingRoutes;

const ADDRESS =
  "Workers are available at a host name under the account's subdomain: set `workers_dev` to true, and map other hosts with a proxy in front of the server.";

/** Resources that clients query but this server does not support: empty lists, and a clear error on creation. */
export const unsupportedRoutes = (): Route[] => [
  emptyList(
    "durable-objects-namespace-list-namespaces",
    `${WORKERS}/durable_objects/namespaces`,
    "List Durable Object namespaces",
    reading,
  ),
  emptyList("worker-domain-list-domains", `${WORKERS}/domains`, "List domains", reading),
  emptyList("worker-domain-list-records", `${WORKERS}/domains/records`, "List records of domains", reading),
  emptyList("worker-environment-list-routes", `${ENVIRONMENT_PATH}/routes`, "List routes of an environment", reading),
  emptyList("worker-script-list-routes", `${SCRIPT}/routes`, "List routes of a Worker", reading),
  emptyList("worker-routes-list-routes", ZONE_ROUTES, "List routes of a zone", readingRoutes),

  refusal(
    { id: "worker-domain-attach-to-domain", method: "put", path: `${WORKERS}/domains`, summary: "Attach a domain" },
    "Custom domains",
    ADDRESS,
  ),
  refusal(
    { id: "worker-domain-changeset", method: "post", path: `${SCRIPT}/domains/changeset`, summary: "Compare domains" },
    "Custom domains",
    ADDRESS,
  ),
  refusal(
    {
      id: "worker-domain-put-records",
      method: "put",
      path: `${SCRIPT}/domains/records`,
      summary: "Replace the domains of a Worker",
    },
    "Custom domains",
    ADDRESS,
  ),
  refusal(
    {
      id: "worker-routes-create-route",
      method: "post",
      path: ZONE_ROUTES,
      summary: "Create a route",
      ...writingRoutes,
    },
    "Routes",
    ADDRESS,
  ),

  // Clients whose configuration contains no routes replace the list with an empty one.
  route(
    {
      id: "worker-script-put-routes",
      method: "put",
      path: `${SCRIPT}/routes`,
      summary: "Replace the routes of a Worker",
      ...writing,
      body: z.array(z.unknown()),
      result: z.array(z.unknown()).max(0),
    },
    async ({ body }) => {
      if (body.length > 0) throw workerRouteErrors.notOffered({ what: "Routes", fix: ADDRESS });
      return answer([]);
    },
  ),
];

const emptyList = (id: string, path: string, summary: string, access: typeof reading | typeof readingRoutes): Route =>
  route(
    {
      id,
      method: "get",
      path,
      summary,
      ...access,
      query: z.object({ ...pageQuery({ perPage: 20 }), page: z.coerce.number().int().min(0).default(1) }),
      result: z.array(z.unknown()).max(0),
    },
    async ({ query }) => pageAnswer({ items: [], total: 0 }, pageRequest(query), (item) => item),
  );

const refusal = (
  operation: {
    id: string;
    method: "post" | "put";
    path: string;
    summary: string;
    tag?: string;
    permission?: Access["permission"];
  },
  what: string,
  fix: string,
): Route =>
  route({ ...writing, ...operation }, async () => {
    throw workerRouteErrors.notOffered({ what, fix });
  });
