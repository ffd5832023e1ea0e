import { z } from "@hono/zod-openapi";
import {
  bucketSettingsErrors,
  corsMethods,
  defaultLifecycle,
  type BucketRef,
  type BucketSettingsStore,
  type R2BucketList,
} from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { bucketOf, ONE_BUCKET, type BucketCall } from "./bucket.ts";

const corsRuleSchema = z.object({
  id: z.string().max(255).optional(),
  allowed: z.object({
    methods: z.array(z.enum(corsMethods)),
    origins: z.array(z.string()),
    headers: z.array(z.string()).optional(),
  }),
  exposeHeaders: z.array(z.string()).optional(),
  maxAgeSeconds: z.number().optional(),
});

const ageSchema = z.object({ type: z.literal("Age"), maxAge: z.number() });
const ageOrDateSchema = z.discriminatedUnion("type", [
  ageSchema,
  z.object({ type: z.literal("Date"), date: z.string() }),
]);
const lifecycleRuleSchema = z.object({
  id: z.string(),
  enabled: z.boolean(),
  conditions: z.object({ prefix: z.string().default("") }).default({ prefix: "" }),
  deleteObjectsTransition: z.object({ condition: ageOrDateSchema }).optional(),
  abortMultipartUploadsTransition: z.object({ condition: ageSchema }).optional(),
  storageClassTransitions: z
    .array(z.object({ condition: ageOrDateSchema, storageClass: z.literal("InfrequentAccess") }))
    .optional(),
});

interface BucketSettingsRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
}

/** Resolves with the bucket in the path. Throws noSuchBucket, notAllowed. */
export async function bucketRefOf(list: R2BucketList, call: BucketCall): Promise<BucketRef & { account: string }> {
  const { id, name } = await bucketOf(list, call);
  return { id, name, account: call.params.account_id! };
}

/** Routes for the CORS policy and the lifecycle rules of a bucket. */
export function bucketRuleRoutes({ bucketList, settings }: BucketSettingsRouteDeps): Route[] {
  const sharedFields = { tag: "R2 Bucket" };
  const readAccess = { ...sharedFields, permission: "Workers R2 Storage Read" } as const;
  const writeAccess = { ...sharedFields, permission: "Workers R2 Storage Write" } as const;
  const corsPath = `${ONE_BUCKET}/cors`;
  const lifecyclePath = `${ONE_BUCKET}/lifecycle`;

  return [
    route(
      {
        ...readAccess,
        id: "r2-get-bucket-cors-policy",
        method: "get",
        path: corsPath,
        summary: "Get the CORS policy of a bucket",
        result: z.object({ rules: z.array(corsRuleSchema) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { cors: rules } = await settings.get(id);
        if (rules === undefined) throw bucketSettingsErrors.noCors();
        return respond({ rules });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-put-bucket-cors-policy",
        method: "put",
        path: corsPath,
        summary: "Set the CORS policy of a bucket",
        body: z.object({ rules: z.array(corsRuleSchema) }),
        result: z.object({}),
      },
      async (call) => {
        await settings.setCors(await bucketRefOf(bucketList, call), call.body.rules);
        return respond({});
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-delete-bucket-cors-policy",
        method: "delete",
        path: corsPath,
        summary: "Delete the CORS policy of a bucket",
        result: z.object({}),
      },
      async (call) => {
        await settings.setCors(await bucketRefOf(bucketList, call), undefined);
        return respond({});
      },
    ),
    route(
      {
        ...readAccess,
        id: "r2-get-bucket-lifecycle-configuration",
        method: "get",
        path: lifecyclePath,
        summary: "Get the lifecycle rules of a bucket",
        result: z.object({ rules: z.array(lifecycleRuleSchema) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return respond({ rules: (await settings.get(id)).lifecycle ?? defaultLifecycle });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-put-bucket-lifecycle-configuration",
        method: "put",
        path: lifecyclePath,
        summary: "Set the lifecycle rules of a bucket",
        body: z.object({ rules: z.array(lifecycleRuleSchema).default([]) }),
        result: z.object({}),
      },
      async (call) => {
        await settings.setLifecycle(await bucketRefOf(bucketList, call), call.body.rules);
        return respond({});
      },
    ),
  ];
}
