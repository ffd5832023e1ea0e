import { z } from "@hono/zod-openapi";
import { secretsStoreLimits } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  sortDirection,
  SECRETS_READ_OPTIONS,
  SECRETS_STORE_PATH,
  shownStore,
  STORE_PATH,
  STORES_PATH,
  storeShape,
  SECRETS_WRITE_OPTIONS,
  type SecretsStoreRouteDeps,
} from "./shapes.ts";

/** Operations that create, list and delete stores, and that return the number of secrets in use. */
export const storeRoutes = ({ store }: SecretsStoreRouteDeps): Route[] => [
  route(
    {
      ...SECRETS_READ_OPTIONS,
      id: "secrets-store-list",
      method: "get",
      path: STORES_PATH,
      summary: "List account stores",
      query: z.object({
        ...pageQuery({ perPage: 20, max: 100 }),
        order: z.enum(["name", "created", "modified"]).optional(),
        direction: sortDirection,
      }),
      result: z.array(storeShape),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      const order = { field: query.order, direction: query.direction };
      return respondWithPage(await store.stores(params.account_id!, page, order), page, shownStore);
    },
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-create",
      method: "post",
      path: STORES_PATH,
      summary: "Create a store",
      body: z.object({ name: z.string() }),
      result: storeShape,
    },
    async ({ params, body }) => respond(shownStore(await store.createStore(params.account_id!, body.name))),
  ),
  route(
    {
      ...SECRETS_READ_OPTIONS,
      id: "secrets-store-get-store",
      method: "get",
      path: STORE_PATH,
      summary: "Get a store by ID",
      result: storeShape,
    },
    async ({ params }) => respond(shownStore(await store.store(params.account_id!, params.store_id!))),
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-delete-store",
      method: "delete",
      path: STORE_PATH,
      summary: "Delete a store",
      query: z.object({ force: z.enum(["true", "false"]).optional() }),
      result: z.null(),
    },
    async ({ params, query }) => {
      await store.deleteStore(params.account_id!, params.store_id!, { force: query.force === "true" });
      return respond(null);
    },
  ),
  route(
    {
      ...SECRETS_READ_OPTIONS,
      id: "secrets-store-quota",
      method: "get",
      path: `${SECRETS_STORE_PATH}/quota`,
      summary: "View secret usage",
      result: z.object({ secrets: z.object({ quota: z.number().int(), usage: z.number().int() }) }),
    },
    async ({ params }) => {
      const { secrets: usage } = await store.count(params.account_id!);
      return respond({ secrets: { quota: secretsStoreLimits.secretsPerAccount, usage } });
    },
  ),
];
