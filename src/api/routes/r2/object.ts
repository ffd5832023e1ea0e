import { Readable } from "node:stream";
import { z } from "@hono/zod-openapi";
import {
  r2ConditionsHold,
  r2Errors,
  type R2BucketList,
  type R2Buckets,
  type R2Object,
} from "../../../workers/index.ts";
import { answer, route, type Call, type Route } from "../../operation.ts";
import { sentLength, withSentBody } from "../sent-body.ts";
import { bucketOf, ONE_BUCKET, STORAGE_CLASSES, wordHeader } from "./bucket.ts";
import { conditionsOf, objectHeaders, metadataFromHeaders, rangeHolds } from "./object-headers.ts";

const putResult = z.object({
  key: z.string(),
  etag: z.string(),
  size: z.string(),
  version: z.string(),
  uploaded: z.string(),
  storage_class: z.enum(STORAGE_CLASSES),
});

export interface R2RouteDeps {
  bucketList: R2BucketList;
  buckets: R2Buckets;
}

/** Reads and writes single objects as bytes. */
export function objectRoutes({ bucketList, buckets }: R2RouteDeps): Route[] {
  const shared = { tag: "R2 Bucket", path: `${ONE_BUCKET}/objects/{object_key+}` };
  const read = { ...shared, permission: "Workers R2 Storage Read" } as const;
  const write = { ...shared, permission: "Workers R2 Storage Write" } as const;

  async function head(call: Call<unknown>, bucket: string): Promise<R2Object> {
    const object = await buckets.head(bucket, call.params.object_key!);
    if (!object) throw r2Errors.noSuchKey();
    return object;
  }

  return [
    route(
      { ...read, id: "r2-get-object", method: "get", summary: "Get an object", raw: "application/octet-stream" },
      async (call) => {
        const { headers, method } = call.request;
        const { id } = await bucketOf(bucketList, call);
        const conditions = conditionsOf(headers);
        // Also handles HEAD; an unread body would remain open.
        if (method === "HEAD") return headResponse(await head(call, id), conditions);

        const ifRange = headers.get("if-range");
        const range = headers.get("range");
        const ranged = range !== null && (ifRange === null || rangeHolds(ifRange, await head(call, id)));
        const found = await buckets.get(id, call.params.object_key!, {
          ...(ranged && { range: { header: range } }),
          ...(conditions && { onlyIf: conditions.all }),
        });
        if (!found) throw r2Errors.noSuchKey();
        const {
          object,
          body,
          range: { offset, length },
        } = found;
        if (!body) return withoutBody(object, conditions!);
        const sent = objectHeaders(object);
        sent.set("content-length", String(length));
        const partial = ranged && isOneRange(range) && object.size > 0;
        if (partial) sent.set("content-range", `bytes ${offset}-${offset + length - 1}/${object.size}`);
        return new Response(Readable.toWeb(body) as ReadableStream, { status: partial ? 206 : 200, headers: sent });
      },
    ),
    route(
      { ...write, id: "r2-put-object", method: "put", summary: "Upload an object", result: putResult },
      async (call) => {
        const { headers } = call.request;
        const bucket = await bucketOf(bucketList, call);
        const storageClass = wordHeader(call, "cf-r2-storage-class", STORAGE_CLASSES) ?? bucket.storageClass;
        const onlyIf = conditionsOf(headers)?.all;
        const size = sentLength(call);
        const md5 = md5Of(headers.get("content-md5"));
        const object = await withSentBody(call, (body) =>
          buckets.put(bucket.id, call.params.object_key!, body, {
            ...metadataFromHeaders(headers),
            storageClass,
            ...(onlyIf && { onlyIf }),
            ...(size !== undefined && { size }),
            ...(md5 !== undefined && { checksums: { md5 } }),
          }),
        );
        await bucketList.confirm(bucket.id);
        return answer({
          key: object.key,
          etag: object.etag,
          size: String(object.size),
          version: object.version,
          uploaded: object.uploaded.toISOString(),
          storage_class: object.storageClass,
        });
      },
    ),
    route(
      {
        ...write,
        id: "r2-delete-object",
        method: "delete",
        summary: "Delete an object",
        result: z.object({ key: z.string() }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        await buckets.delete(id, [call.params.object_key!]);
        return answer({ key: call.params.object_key! });
      },
    ),
  ];
}

function headResponse(object: R2Object, conditions: ReturnType<typeof conditionsOf>): Response {
  const current = { etag: object.etag, uploaded: object.uploaded.getTime() };
  if (conditions && !r2ConditionsHold(conditions.all, current)) return withoutBody(object, conditions);
  const headers = objectHeaders(object);
  headers.set("content-length", String(object.size));
  return new Response(null, { headers });
}

/** A failed condition: 412 for preconditions, 304 for cache validation. */
function withoutBody(object: R2Object, { required }: NonNullable<ReturnType<typeof conditionsOf>>): Response {
  if (!r2ConditionsHold(required, { etag: object.etag, uploaded: object.uploaded.getTime() }))
    throw r2Errors.preconditionFailed();
  const all = objectHeaders(object);
  const kept = ["etag", "last-modified", "cache-control", "expires"].flatMap((name) =>
    all.has(name) ? [[name, all.get(name)!] as [string, string]] : [],
  );
  return new Response(null, { status: 304, headers: kept });
}

/** Requests for multiple ranges or in another unit return the whole object (RFC 9110 14.2). */
const isOneRange = (range: string) => /^\s*bytes\s*=\s*(\d+\s*-\s*\d*|-\s*\d+)\s*$/i.test(range) && !isBackwards(range);
const isBackwards = (range: string) => {
  const [, first, last] = /(\d+)\s*-\s*(\d+)/.exec(range) ?? [];
  return first !== undefined && Number(last) < Number(first);
};

function md5Of(header: string | null): string | undefined {
  if (header === null) return undefined;
  const bytes = Buffer.from(header, "base64");
  if (bytes.length !== 16)
    throw r2Errors.invalidArgument({ problem: "The header content-md5 must be the base64-encoded MD5 of the body." });
  return bytes.toString("hex");
}
