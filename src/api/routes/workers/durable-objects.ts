import { z } from "@hono/zod-openapi";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { WORKER_READ_OPTIONS, WORKERS, type WorkerRoutesDeps } from "./common.ts";

const NAMESPACES_PATH = `${WORKERS}/durable_objects/namespaces`;

const namespaceSchema = z.object({
  id: z.string(),
  name: z.string(),
  script: z.string(),
  class: z.string(),
  use_sqlite: z.boolean(),
});
const objectSchema = z.object({ id: z.string(), hasStoredData: z.boolean() });

const MAX_OBJECTS_PER_PAGE = 10_000;

/** Operations that list Durable Object namespaces and their objects. */
export const durableObjectRoutes = ({ objectNamespaces }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "durable-objects-namespace-list-namespaces",
      method: "get",
      path: NAMESPACES_PATH,
      summary: "List Durable Object namespaces",
      ...WORKER_READ_OPTIONS,
      query: z.object(pageQuery({ perPage: 20 })),
      result: z.array(namespaceSchema),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      return respondWithPage(
        await objectNamespaces.list(params.account_id!, page),
        page,
        ({ id, script, className, sqlite }) => ({
          id,
          name: `${script}_${className}`,
          script,
          class: className,
          use_sqlite: sqlite,
        }),
      );
    },
  ),
  route(
    {
      id: "durable-objects-namespace-list-objects",
      method: "get",
      path: `${NAMESPACES_PATH}/{id}/objects`,
      summary: "List Durable Objects",
      ...WORKER_READ_OPTIONS,
      query: z.object({
        limit: z.coerce.number().int().min(1).max(MAX_OBJECTS_PER_PAGE).default(1000),
        cursor: z
          .string()
          .regex(/^([0-9a-f]{64})?$/)
          .optional(),
      }),
      result: z.array(objectSchema),
    },
    async ({ params, query: { limit, cursor } }) => {
      const {
        items,
        total,
        next = "",
      } = await objectNamespaces.objects(params.account_id!, params.id!, {
        after: cursor,
        limit,
      });
      return respond(items, {
        info: { count: items.length, per_page: limit, total_count: total, cursor: next, cursors: { after: next } },
      });
    },
  ),
];
