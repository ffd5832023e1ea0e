import { Readable } from "node:stream";
import { z } from "@hono/zod-openapi";
import {
  r2Conditions,
  r2Errors,
  r2MetadataFromHeaders,
  readR2Object,
  type R2BucketList,
  type R2Buckets,
} from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { sentLength, withSentBody } from "../sent-body.ts";
import { bucketOf, ONE_BUCKET, requireBucket, STORAGE_CLASSES, wordHeader } from "./bucket.ts";

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
  const sharedFields = { tag: "R2 Bucket", path: `${ONE_BUCKET}/objects/{object_key+}` };
  const readAccess = { ...sharedFields, permission: "Workers R2 Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers R2 Storage Write" } as const;

  return [
    route(
      { ...readAccess, id: "r2-get-object", method: "get", summary: "Get an object", raw: "application/octet-stream" },
      async (call) => {
        const { headers, method } = call.request;
        const { id } = await bucketOf(bucketList, call);
        // Also handles HEAD; an unread body would remain open.
        const {
          body,
          status,
          headers: sent,
        } = await readR2Object(buckets, { bucket: id, key: call.params.object_key!, method, headers });
        return new Response(body ? (Readable.toWeb(body) as ReadableStream) : null, { status, headers: sent });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-put-object",
        method: "put",
        summary: "Upload an object",
        audit: false,
        result: putResult,
      },
      async (call) => {
        const { params, request, node } = call;
        const { headers } = request;
        const bucket = await bucketOf(bucketList, call);
        const storageClass = wordHeader(call, "cf-r2-storage-class", STORAGE_CLASSES) ?? bucket.storageClass;
        const onlyIf = r2Conditions(headers)?.all;
        const size = sentLength(call);
        const md5 = md5Of(headers.get("content-md5"));
        // The policies of the token may change while a slow body is still arriving.
        const confirm = async () => requireBucket({ params, request, caller: await call.confirm() }, bucket);
        const object = await withSentBody({ node, confirm }, (body) =>
          buckets.put(bucket.id, params.object_key!, body, {
            ...r2MetadataFromHeaders(headers),
            storageClass,
            ...(onlyIf && { onlyIf }),
            ...(size !== undefined && { size }),
            ...(md5 !== undefined && { checksums: { md5 } }),
          }),
        );
        await bucketList.confirm(bucket.id);
        return respond({
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
        ...writeAccess,
        id: "r2-delete-object",
        method: "delete",
        summary: "Delete an object",
        audit: false,
        result: z.object({ key: z.string() }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        await buckets.delete(id, [call.params.object_key!]);
        return respond({ key: call.params.object_key! });
      },
    ),
  ];
}

function md5Of(header: string | null): string | undefined {
  if (header === null) return undefined;
  const bytes = Buffer.from(header, "base64");
  if (bytes.length !== 16)
    throw r2Errors.invalidArgument({ problem: "The header content-md5 must be the base64-encoded MD5 of the body." });
  return bytes.toString("hex");
}
