import { Readable } from "node:stream";
import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import {
  expiryOf,
  kvErrors,
  keyBytes,
  kvLimits,
  type KvEntry,
  type KvNamespaces,
  type KvStore,
} from "../../../workers/index.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { sentLength, withSentBody } from "../sent-body.ts";
import { keyFromPath } from "../key-from-path.ts";
import { namespaceOf, ONE_NAMESPACE } from "./namespace.ts";
import { readValueForm } from "./value-form.ts";

const expiry = z.object({ expiration: z.string().optional(), expiration_ttl: z.string().optional() });

const VALUE = `${ONE_NAMESPACE}/values/{key_name+}`;
const METADATA = `${ONE_NAMESPACE}/metadata/{key_name+}`;

/** Values up to this size are read into memory; larger ones are streamed to the store. */
const SMALL_VALUE_BYTES = 64 * 1024;
/** A value with its metadata and the multipart boundaries. */
const MAX_FORM_BYTES = kvLimits.valueBytes + 64 * 1024;

/** Reads and writes single values as bytes. */
export function valueRoutes({
  namespaces,
  store,
  clock,
}: {
  namespaces: KvNamespaces;
  store: KvStore;
  clock: Clock;
}): Route[] {
  const sharedFields = { tag: "Workers KV Namespace" };
  const readAccess = { ...sharedFields, permission: "Workers KV Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers KV Storage Write" } as const;

  async function getEntry(call: Call<unknown>, path: string): Promise<KvEntry> {
    const { id } = await namespaceOf(namespaces, call, "get");
    const entry = await store.get(id, keyOf(call, path));
    if (!entry) throw kvErrors.keyNotFound({ operation: "get" });
    return entry;
  }

  return [
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-read-key-value-pair",
        method: "get",
        path: VALUE,
        summary: "Read a value",
        raw: "application/octet-stream",
      },
      async (call) => valueResponse(await getEntry(call, VALUE), call.request.method),
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-write-key-value-pair-with-metadata",
        method: "put",
        path: VALUE,
        summary: "Write a value",
        audit: false,
        query: expiry,
        maxBytes: MAX_FORM_BYTES,
        result: z.null(),
      },
      async (call) => {
        const { id } = await namespaceOf(namespaces, call, "put");
        const key = keyOf(call, VALUE);
        keyBytes(key);
        const expiresAt = expiryOf({ expiration: call.query.expiration, ttl: call.query.expiration_ttl }, clock.now());
        await putValue(store, call, id, key, expiresAt);
        return respond(null);
      },
    ),
    route(
      {
        ...writeAccess,
        id: "workers-kv-namespace-delete-key-value-pair",
        method: "delete",
        path: VALUE,
        summary: "Delete a value",
        audit: false,
        result: z.null(),
      },
      async (call) => {
        const { id } = await namespaceOf(namespaces, call, "delete");
        await store.delete(id, keyOf(call, VALUE));
        return respond(null);
      },
    ),
    route(
      {
        ...readAccess,
        id: "workers-kv-namespace-read-the-metadata-for-a-key",
        method: "get",
        path: METADATA,
        summary: "Read the metadata of a key",
        result: z.unknown(),
      },
      async (call) => {
        const { metadata, value } = await getEntry(call, METADATA);
        if (value instanceof Readable) value.destroy();
        return respond(metadata === undefined ? null : (JSON.parse(metadata) as unknown));
      },
    ),
  ];
}

const keyOf = (call: Call<unknown>, path: string) => keyFromPath(call, path, () => kvErrors.undecodableKey());

async function putValue(
  store: KvStore,
  call: Call<unknown>,
  id: string,
  key: string,
  expiresAt: number | null,
): Promise<void> {
  if (/^multipart\/form-data/i.test(call.request.headers.get("content-type") ?? "")) {
    const { value, metadata } = await readValueForm(await call.form());
    return store.put(id, key, value, { expiresAt, ...(metadata !== undefined && { metadata }) });
  }
  const length = sentLength(call);
  if (length !== undefined && length > kvLimits.valueBytes)
    throw kvErrors.valueTooLong({ length, limit: kvLimits.valueBytes });
  if (length !== undefined && length <= SMALL_VALUE_BYTES) return store.put(id, key, await call.bytes(), { expiresAt });
  await withSentBody(call, (body) => store.put(id, key, body, { expiresAt }));
}

function valueResponse({ value, size, expiration }: KvEntry, method: string): Response {
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": String(size),
    ...(expiration !== undefined && { expiration: String(expiration) }),
  };
  if (value instanceof Uint8Array)
    return new Response(method === "HEAD" ? null : (value as Uint8Array<ArrayBuffer>), { headers });
  if (method === "HEAD") value.destroy();
  return new Response(method === "HEAD" ? null : (Readable.toWeb(value) as ReadableStream), { headers });
}
