import { z } from "@hono/zod-openapi";
import { kvErrors, kvLimits, type KvBulk, type KvNamespaces, type KvStore } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { namespaceOf, ONE_NAMESPACE } from "./namespace.ts";

const listedKey = z.object({ name: z.string(), expiration: z.number().optional(), metadata: z.unknown().optional() });
const listQuery = z.object({
  limit: z.coerce.number().int().min(10).max(kvLimits.listKeys).default(kvLimits.listKeys),
  prefix: z.string().default(""),
  // Some clients send an empty cursor for the first page.
  cursor: z
    .string()
    .optional()
    .transform((cursor) => (cursor === "" ? undefined : cursor)),
});

const pair = z.object({
  key: z.string(),
  value: z.string(),
  base64: z
    .boolean()
    .nullish()
    .transform((base64) => base64 ?? undefined),
  metadata: z.unknown().optional(),
  expiration: z
    .number()
    .nullish()
    .transform((expiration) => expiration ?? undefined),
  expiration_ttl: z
    .number()
    .nullish()
    .transform((ttl) => ttl ?? undefined),
});
const bulkDone = z.object({ successful_key_count: z.number(), unsuccessful_keys: z.array(z.string()) });
const bulkGet = z.object({
  keys: z.array(z.string()).min(1).max(kvLimits.bulkKeys),
  type: z.enum(["text", "json"]).default("text"),
  withMetadata: z.boolean().default(false),
});

/** Ten thousand keys of 512 bytes, each byte escaped to six in JSON. */
const MAX_DELETE_BYTES = 32 * 1024 * 1024;

/** Ten thousand pairs, each with a dozen metadata fields. */
const MAX_VALUES = 500_000;

/** Keys of a namespace, and bulk operations on values. */
export function keyRoutes({
  namespaces,
  store,
  bulk,
}: {
  namespaces: KvNamespaces;
  store: KvStore;
  bulk: KvBulk;
}): Route[] {
  const sharedFields = { tag: "Workers KV Namespace" };
  const readAccess = { ...sharedFields, permission: "Workers KV Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers KV Storage Write" } as const;
  const deletion = {
    ...writeAccess,
    summary: "Delete multiple key-value pairs",
    body: z.array(z.string()),
    maxBytes: MAX_DELETE_BYTES,
    result: bulkDone,
    audit: false,
  } as const;

  const removeKeys: Parameters<typeof route<z.ZodType, typeof deletion.body, typeof bulkDone>>[1] = async (call) => {
    const { id } = await namespaceOf(namespaces, call, "bulk delete");
    return respond(show(await bulk.delete(id, call.body)));
  };

  return [
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-list-a-namespace'-s-keys",
        method: "get",
        path: `${ONE_NAMESPACE}/keys`,
        summary: "List the keys of a namespace",
        query: listQuery,
        result: z.array(listedKey),
      },
      async (call) => {
        const { id } = await namespaceOf(namespaces, call, "list keys");
        const { keys, cursor } = await store.list(id, call.query);
        const shownKeys = keys.map(({ name, expiration, metadata }) => ({
          name,
          ...(expiration !== undefined && { expiration }),
          ...(metadata !== undefined && { metadata: JSON.parse(metadata) as unknown }),
        }));
        // Some clients read one field, some the other.
        return respond(shownKeys, {
          info: {
            count: shownKeys.length,
            cursor: cursor ?? "",
            ...(cursor !== undefined && { cursors: { after: cursor } }),
          },
        });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-write-multiple-key-value-pairs",
        method: "put",
        path: `${ONE_NAMESPACE}/bulk`,
        summary: "Write multiple key-value pairs",
        audit: false,
        body: z.array(pair),
        maxBytes: kvLimits.bulkRequestBytes,
        maxValues: MAX_VALUES,
        result: bulkDone,
      },
      async (call) => {
        const { id } = await namespaceOf(namespaces, call, "bulk put");
        return respond(show(await bulk.put(id, call.body)));
      },
    ),
    route(
      {
        ...deletion,
        id: "workers-kv-namespace-delete-multiple-key-value-pairs",
        method: "post",
        path: `${ONE_NAMESPACE}/bulk/delete`,
      },
      removeKeys,
    ),
    route(
      {
        ...deletion,
        id: "workers-kv-namespace-delete-multiple-key-value-pairs-deprecated",
        method: "delete",
        path: `${ONE_NAMESPACE}/bulk`,
      },
      removeKeys,
    ),
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-get-multiple-key-value-pairs",
        method: "post",
        path: `${ONE_NAMESPACE}/bulk/get`,
        summary: "Get multiple key-value pairs",
        audit: false,
        body: bulkGet,
        result: z.object({ values: z.record(z.string(), z.unknown()) }),
      },
      async (call) => {
        const { id } = await namespaceOf(namespaces, call, "bulk get");
        const { keys, type, withMetadata } = call.body;
        const foundValues = await store.getMany(id, keys);
        const values = [...new Set(keys)].flatMap((key): [string, unknown][] => {
          const entry = foundValues.get(key);
          // Per the published schemas, a missing key is null if the result includes metadata, and is omitted otherwise.
          if (!entry) return withMetadata ? [[key, null]] : [];
          const text = entry.value.toString();
          const value: unknown = type === "json" ? asJson(text) : text;
          if (!withMetadata) return [[key, value]];
          return [
            [
              key,
              {
                value,
                metadata: entry.metadata === undefined ? null : JSON.parse(entry.metadata),
                ...(entry.expiration !== undefined && { expiration: entry.expiration }),
              },
            ],
          ];
        });
        return respond({ values: Object.fromEntries(values) });
      },
    ),
  ];
}

const show = ({ successful, unsuccessful }: { successful: number; unsuccessful: string[] }) => ({
  successful_key_count: successful,
  unsuccessful_keys: unsuccessful,
});

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw kvErrors.notJson();
  }
}
