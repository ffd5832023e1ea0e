import { z } from "@hono/zod-openapi";
import {
  bucketSettingsErrors,
  corsMethods,
  defaultLifecycle,
  type BucketRef,
  type BucketSettingsStore,
  type R2BucketList,
} from "../../../workers/index.ts";
import { answer, route, type Call, type Route } from "../../operation.ts";
import { bucketOf, ONE_BUCKET } from "./bucket.ts";

const corsRule = z.object({
  id: z.string().max(255).optional(),
  allowed: z.object({
    methods: z.array(z.enum(corsMethods)),
    origins: z.array(z.string()),
    headers: z.array(z.string()).optional(),
  }),
  exposeHeaders: z.array(z.string()).optional(),
  maxAgeSeconds: z.number().optional(),
});

const age = z.object({ type: z.literal("Age"), maxAge: z.number() });
const ageOrDate = z.discriminatedUnion("type", [age, z.object({ type: z.literal("Date"), date: z.string() })]);
const lifecycleRule = z.object({
  id: z.string(),
  enabled: z.boolean(),
  conditions: z.object({ prefix: z.string().default("") }).default({ prefix: "" }),
  deleteObjectsTransition: z.object({ condition: ageOrDate }).optional(),
  abortMultipartUploadsTransition: z.object({ condition: age }).optional(),
  storageClassTransitions: z
    .array(z.object({ condition: ageOrDate, storageClass: z.literal("InfrequentAccess") }))
    .optional(),
});

interface BucketSettingsRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
}

/** The bucket in the path. Throws noSuchBucket. */
export async function refOf(
  list: R2BucketList,
  call: Pick<Call, "params" | "request">,
): Promise<BucketRef & { account: string }> {
  const { id, name } = await bucketOf(list, call);
  return { id, name, account: call.params.account_id! };
}

/** CORS policy and lifecycle rules of a bucket. */
export function bucketRuleRoutes({ bucketList, settings }: BucketSettingsRouteDeps): Route[] {
  const shared = { tag: "R2 Bucket" };
  const read = { ...shared, permission: "Workers R2 Storage Read" } as const;
  const write = { ...shared, permission: "Workers R2 Storage Write" } as const;
  const cors = `${ONE_BUCKET}/cors`;
  const lifecycle = `${ONE_BUCKET}/lifecycle`;

  return [
    route(
      {
        ...read,
        id: "r2-get-bucket-cors-policy",
        method: "get",
        path: cors,
        summary: "Get the CORS policy of a bucket",
        result: z.object({ rules: z.array(corsRule) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { cors: rules } = await settings.of(id);
        if (rules === undefined) throw bucketSettingsErrors.noCors();
        return answer({ rules });
      },
    ),
    route(
      {
        ...write,
        id: "r2-put-bucket-cors-policy",
        method: "put",
        path: cors,
        summary: "Set the CORS policy of a bucket",
        body: z.object({ rules: z.array(corsRule) }),
        result: z.object({}),
      },
      async (call) => {
        await settings.setCors(await refOf(bucketList, call), call.body.rules);
        return answer({});
      },
    ),
    route(
      {
        ...write,
        id: "r2-delete-bucket-cors-policy",
        method: "delete",
        path: cors,
        summary: "Delete the CORS policy of a bucket",
        result: z.object({}),
      },
      async (call) => {
        await settings.setCors(await refOf(bucketList, call), undefined);
        return answer({});
      },
    ),
    route(
      {
        ...read,
        id: "r2-get-bucket-lifecycle-configuration",
        method: "get",
        path: lifecycle,
        summary: "Get the lifecycle rules of a bucket",
        result: z.object({ rules: z.array(lifecycleRule) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return answer({ rules: (await settings.of(id)).lifecycle ?? defaultLifecycle });
      },
    ),
    route(
      {
        ...write,
        id: "r2-put-bucket-lifecycle-configuration",
        method: "put",
        path: lifecycle,
        summary: "Set the lifecycle rules of a bucket",
        body: z.object({ rules: z.array(lifecycleRule).default([]) }),
        result: z.object({}),
      },
      async (call) => {
        await settings.setLifecycle(await refOf(bucketList, call), call.body.rules);
        return answer({});
      },
    ),
  ];
}
