import { z } from "@hono/zod-openapi";
import {
  listPermittedBuckets,
  r2Errors,
  r2Jurisdictions,
  r2Locations,
  type R2Bucket,
  type R2BucketList,
} from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  bucketOf,
  BUCKETS,
  isBucketAllowed,
  ONE_BUCKET,
  requireBucket,
  STORAGE_CLASSES,
  wordHeader,
} from "./bucket.ts";

const bucketSchema = z.object({
  name: z.string(),
  creation_date: z.string(),
  location: z.enum(r2Locations).optional(),
  storage_class: z.enum(STORAGE_CLASSES),
  jurisdiction: z.enum(r2Jurisdictions),
});
const newBucket = z.object({
  name: z.string(),
  locationHint: z.string().toLowerCase().pipe(z.enum(r2Locations)).nullish(),
  storageClass: z.enum(STORAGE_CLASSES).nullish(),
});
const listQuery = z.object({
  name_contains: z.string().default(""),
  start_after: z.string().optional(),
  cursor: z
    .string()
    .optional()
    .transform((cursor) => (cursor === "" ? undefined : cursor)),
  per_page: z.coerce.number().int().min(1).max(1000).default(20),
  order: z.enum(["name"]).default("name"),
  direction: z.enum(["asc", "desc"]).default("asc"),
});

const show = ({ name, createdAt, location, storageClass, jurisdiction }: R2Bucket) => ({
  name,
  creation_date: createdAt.toISOString(),
  ...(location !== undefined && { location }),
  storage_class: storageClass,
  jurisdiction,
});

/** Buckets of an account: names and default storage classes. */
export function bucketRoutes({ bucketList }: { bucketList: R2BucketList }): Route[] {
  const sharedFields = { tag: "R2 Bucket" };
  const readAccess = { ...sharedFields, permission: "Workers R2 Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers R2 Storage Write" } as const;

  return [
    route(
      {
        ...readAccess,
        id: "r2-list-buckets",
        method: "get",
        path: BUCKETS,
        summary: "List buckets",
        query: listQuery,
        result: z.object({ buckets: z.array(bucketSchema) }),
      },
      async (call) => {
        const { query } = call;
        const { buckets, cursor } = await listPermittedBuckets(
          bucketList,
          call.params.account_id!,
          {
            contains: query.name_contains,
            direction: query.direction,
            limit: query.per_page,
            ...(query.start_after !== undefined && { startAfter: query.start_after }),
            ...(query.cursor !== undefined && { cursor: query.cursor }),
          },
          (bucket) => isBucketAllowed(call, "Read", bucket),
        );
        return respond(
          { buckets: buckets.map(show) },
          { info: { per_page: query.per_page, ...(cursor !== undefined && { cursor }) } },
        );
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-create-bucket",
        method: "post",
        path: BUCKETS,
        summary: "Create a bucket",
        body: newBucket,
        result: bucketSchema,
      },
      async (call) => {
        const { name, locationHint, storageClass } = call.body;
        const jurisdiction = wordHeader(call, "cf-r2-jurisdiction", r2Jurisdictions);
        requireBucket(call, { name, jurisdiction: jurisdiction ?? "default" });
        return respond(
          show(
            await bucketList.create(call.params.account_id!, name, {
              ...(locationHint != null && { location: locationHint }),
              ...(storageClass != null && { storageClass }),
              ...(jurisdiction && { jurisdiction }),
            }),
          ),
        );
      },
    ),
    route(
      {
        ...readAccess,
        id: "r2-get-bucket",
        method: "get",
        path: ONE_BUCKET,
        summary: "Get a bucket",
        result: bucketSchema,
      },
      async (call) => respond(show(await bucketOf(bucketList, call))),
    ),
    route(
      {
        ...writeAccess,
        id: "r2-patch-bucket",
        method: "patch",
        path: ONE_BUCKET,
        summary: "Update the storage class of a bucket",
        result: bucketSchema,
      },
      async (call) => {
        const { name } = await bucketOf(bucketList, call);
        const storageClass = wordHeader(call, "cf-r2-storage-class", STORAGE_CLASSES);
        if (!storageClass)
          throw r2Errors.invalidArgument({
            problem: "Set the header cf-r2-storage-class to the new storage class.",
          });
        return respond(show(await bucketList.changeStorageClass(call.params.account_id!, name, storageClass)));
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-delete-bucket",
        method: "delete",
        path: ONE_BUCKET,
        summary: "Delete an empty bucket",
        result: z.object({}),
      },
      async (call) => {
        const { name } = await bucketOf(bucketList, call);
        await bucketList.delete(call.params.account_id!, name);
        return respond({});
      },
    ),
  ];
}
