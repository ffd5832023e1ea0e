import { z } from "@hono/zod-openapi";
import type { KvNamespace, KvNamespaces } from "../../../workers/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { KV_BASE, namespaceOf, ONE_NAMESPACE } from "./namespace.ts";

const namespaceSchema = z.object({ id: z.string(), title: z.string(), supports_url_encoding: z.boolean() });
const titled = z.object({ title: z.string() });
const order = { order: z.enum(["id", "title"]).default("title"), direction: z.enum(["asc", "desc"]).default("asc") };

const show = ({ id, title }: KvNamespace) => ({ id, title, supports_url_encoding: true });

/** Creates, lists, renames and deletes namespaces. */
export function namespaceRoutes({
  namespaces,
  chosenIds = noChosenIds,
}: {
  namespaces: KvNamespaces;
  chosenIds?: ChosenIds;
}): Route[] {
  const sharedFields = { tag: "Workers KV Namespace" };
  const readAccess = { ...sharedFields, permission: "Workers KV Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers KV Storage Write" } as const;

  return [
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-list-namespaces",
        method: "get",
        path: KV_BASE,
        summary: "List namespaces",
        query: z.object({ ...pageQuery(), ...order }),
        result: z.array(namespaceSchema),
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        return respondWithPage(
          await namespaces.list(params.account_id!, page, { field: query.order, direction: query.direction }),
          page,
          show,
        );
      },
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-create-a-namespace",
        method: "post",
        path: KV_BASE,
        summary: "Create a namespace",
        chosenId: "hex",
        body: titled,
        result: namespaceSchema,
      },
      async (call) =>
        respond(
          show(await namespaces.create(call.params.account_id!, call.body.title, await chosenIds.of(call, "hex"))),
        ),
    ),
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-get-a-namespace",
        method: "get",
        path: ONE_NAMESPACE,
        summary: "Get a namespace",
        result: namespaceSchema,
      },
      async (call) => respond(show(await namespaceOf(namespaces, call))),
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-rename-a-namespace",
        method: "put",
        path: ONE_NAMESPACE,
        summary: "Rename a namespace",
        body: titled,
        result: namespaceSchema,
      },
      async (call) =>
        respond(
          show(
            await namespaces.rename(call.params.account_id!, (await namespaceOf(namespaces, call)).id, call.body.title),
          ),
        ),
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-remove-a-namespace",
        method: "delete",
        path: ONE_NAMESPACE,
        summary: "Delete a namespace and all its keys",
        result: z.null(),
      },
      async (call) => {
        await namespaces.delete(call.params.account_id!, (await namespaceOf(namespaces, call)).id);
        return respond(null);
      },
    ),
  ];
}
