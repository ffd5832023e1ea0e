import { z } from "@hono/zod-openapi";
import { pageAnswer, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { reading, WORKERS } from "./common.ts";

/** Resources that clients query but this server does not support: empty lists. */
export const unsupportedRoutes = (): Route[] => [
  route(
    {
      id: "durable-objects-namespace-list-namespaces",
      method: "get",
      path: `${WORKERS}/durable_objects/namespaces`,
      summary: "List Durable Object namespaces",
      ...reading,
      query: z.object({ ...pageQuery({ perPage: 20 }), page: z.coerce.number().int().min(0).default(1) }),
      result: z.array(z.unknown()).max(0),
    },
    async ({ query }) => pageAnswer({ items: [], total: 0 }, pageRequest(query), (item) => item),
  ),
];
