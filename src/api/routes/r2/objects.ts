import { setImmediate } from "node:timers/promises";
import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import { r2Errors, type R2Buckets, type R2ListedObject } from "../../../workers/index.ts";
import { parseJson } from "../../body.ts";
import { respond, route, type Route } from "../../operation.ts";
import { bucketOf, ONE_BUCKET, STORAGE_CLASSES } from "./bucket.ts";
import type { R2RouteDeps } from "./object.ts";

const objectSchema = z.object({
  key: z.string(),
  etag: z.string(),
  last_modified: z.string(),
  size: z.number().int(),
  storage_class: z.enum(STORAGE_CLASSES),
  ssec: z.boolean(),
  http_metadata: z.record(z.string(), z.string()),
  custom_metadata: z.record(z.string(), z.string()),
});
const listQuery = z.object({
  per_page: z.coerce.number().int().min(1).max(1000).default(20),
  prefix: z.string().default(""),
  delimiter: z.string().default(""),
  cursor: z
    .string()
    .optional()
    .transform((cursor) => (cursor === "" ? undefined : cursor)),
  start_after: z.string().optional(),
});

/** A thousand keys of 1,024 bytes, each byte escaped to six in JSON. */
const MAX_DELETE_BYTES = 8 * 1024 * 1024;

const job = z.object({
  id: z.string(),
  jobType: z.literal("prefixDelete"),
  status: z.literal("COMPLETED"),
  startTime: z.string(),
  endTime: z.string(),
  prefixDelete: z.object({ prefix: z.string(), deletedObjects: z.number().int(), isBucketClear: z.boolean() }),
});

const deletedSchema = z.union([z.array(z.object({ key: z.string() })), job]);

/** Lists objects of a bucket, and deletes them in bulk. */
export function objectListRoutes({ bucketList, buckets, clock }: R2RouteDeps & { clock: Clock }): Route[] {
  const sharedFields = { tag: "R2 Bucket", path: `${ONE_BUCKET}/objects` };
  const bucketsBeingEmptied = new Set<string>();

  return [
    route(
      {
        ...sharedFields,
        permission: "Workers R2 Storage Read",
        id: "r2-list-objects",
        method: "get",
        summary: "List objects",
        query: listQuery,
        result: z.array(objectSchema),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { per_page: limit, prefix, delimiter, cursor, start_after: startAfter } = call.query;
        const page = await buckets.list(id, {
          limit,
          prefix,
          delimiter,
          ...(cursor !== undefined && { cursor }),
          ...(startAfter !== undefined && { startAfter }),
          include: ["httpMetadata", "customMetadata"],
        });
        return respond(page.objects.map(show), {
          info: {
            per_page: limit,
            is_truncated: page.cursor !== undefined,
            ...(page.cursor !== undefined && { cursor: page.cursor }),
            ...(delimiter !== "" && { delimited: page.delimitedPrefixes }),
          },
        });
      },
    ),
    route(
      {
        ...sharedFields,
        permission: "Workers R2 Storage Write",
        id: "r2-delete-objects",
        method: "delete",
        summary: "Delete objects by key or prefix",
        audit: false,
        query: z.object({ prefix: z.string().optional() }),
        maxBytes: MAX_DELETE_BYTES,
        result: deletedSchema,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { prefix } = call.query;
        if (prefix === undefined) {
          const keys = z.array(z.string()).safeParse(parseJson(await call.bytes()));
          if (!keys.success)
            throw r2Errors.invalidArgument({
              problem: "The body must be a JSON array of the keys to delete, or the query must have a prefix.",
            });
          await buckets.delete(id, keys.data);
          return respond<z.input<typeof deletedSchema>>(keys.data.map((key) => ({ key })));
        }
        if (prefix !== "" && !prefix.endsWith("/"))
          throw r2Errors.invalidArgument({ problem: "A prefix to delete must end in /." });
        if (bucketsBeingEmptied.has(id)) throw r2Errors.tooManyJobs();
        bucketsBeingEmptied.add(id);
        try {
          const start = clock.now();
          const deletedCount = await deletePrefix(buckets, id, prefix, start, call.request.signal);
          return respond<z.input<typeof deletedSchema>>({
            id: call.id,
            jobType: "prefixDelete" as const,
            status: "COMPLETED" as const,
            startTime: new Date(start).toISOString(),
            endTime: new Date(clock.now()).toISOString(),
            prefixDelete: { prefix, deletedObjects: deletedCount, isBucketClear: prefix === "" },
          });
        } finally {
          bucketsBeingEmptied.delete(id);
        }
      },
    ),
  ];
}

/** Deletes in batches while the client waits; objects written after the start are kept. */
async function deletePrefix(
  buckets: R2Buckets,
  bucket: string,
  prefix: string,
  start: number,
  signal: AbortSignal,
): Promise<number> {
  let deletedCount = 0;
  let cursor: string | undefined;
  do {
    signal.throwIfAborted();
    const page = await buckets.list(bucket, { prefix, ...(cursor !== undefined && { cursor }) });
    const keys = page.objects.filter(({ uploaded }) => uploaded.getTime() <= start).map(({ key }) => key);
    if (keys.length > 0) await buckets.delete(bucket, keys);
    // Yields to the event loop: without deletions, the loop consists of queries, which are synchronous in SQLite.
    else await setImmediate();
    deletedCount += keys.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return deletedCount;
}

function show({ key, etag, uploaded, size, storageClass, httpMetadata = {}, customMetadata = {} }: R2ListedObject) {
  const { cacheExpiry, ...texts } = httpMetadata;
  return {
    key,
    etag,
    last_modified: uploaded.toISOString(),
    size,
    storage_class: storageClass,
    ssec: false,
    http_metadata: { ...texts, ...(cacheExpiry && { cacheExpiry: cacheExpiry.toISOString() }) },
    custom_metadata: customMetadata,
  };
}
