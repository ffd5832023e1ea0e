import { z } from "zod";
import { queueLimits } from "../../queues/limits.ts";
import { objectLimits } from "../../objects/limits.ts";
import {
  IDENTIFIER,
  RATE_LIMIT_NAMESPACE,
  bindingName,
  address,
  workerNameField,
  remote,
  ignoredField,
  arrayField,
} from "./field-types.ts";

export const sendEmail = z.strictObject({
  name: bindingName,
  destination_address: address.optional(),
  allowed_destination_addresses: z
    .array(address)
    .optional()
    .meta({ example: ["someone@example.com"] }),
  allowed_sender_addresses: z
    .array(address)
    .optional()
    .meta({ example: ["me@example.com"] }),
  remote,
});

export const kvNamespace = z.strictObject({
  binding: bindingName,
  id: z.string().min(1).optional(),
  preview_id: z.string().min(1).optional(),
  remote,
});

// 3 to 63 characters, as in the hosted service.
const bucketName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/)
  .meta({
    description: "a bucket name",
    example: "my-bucket",
    fix: 'use 3 to 63 lowercase letters, digits and "-", with a letter or digit at both ends',
  });

export const r2Bucket = z.strictObject({
  binding: bindingName,
  bucket_name: bucketName.optional(),
  preview_bucket_name: bucketName.optional(),
  jurisdiction: z.string().optional(),
  remote,
});

export const d1Database = z.strictObject({
  binding: bindingName,
  database_name: z.string().min(1).optional(),
  database_id: z.string().min(1).optional(),
  preview_database_id: z.string().min(1).optional(),
  migrations_table: z.string().optional(),
  migrations_dir: z.string().optional(),
  migrations_pattern: z.string().optional(),
  remote,
});

const rateLimitFields = {
  name: bindingName,
  namespace_id: z
    .string()
    .regex(RATE_LIMIT_NAMESPACE)
    .meta({ description: "a string with a positive integer", example: "1001" }),
  simple: z.strictObject({
    limit: z.number().int().min(1).meta({ example: 100 }),
    period: z.union([z.literal(10), z.literal(60)]).meta({ description: "10 or 60 seconds", example: 60 }),
  }),
};
export const rateLimit = z.strictObject(rateLimitFields);

/** Older projects declare rate limits in `unsafe.bindings`. Wrangler uploads its entries without checking them. */
const unsafeRateLimit = z.object({ ...rateLimitFields, type: z.literal("ratelimit") });

export const unsafeBinding = z
  .looseObject({
    name: bindingName,
    type: z.string().min(1),
    namespace_id: z.unknown().optional().meta(rateLimitFields.namespace_id.meta()!),
    simple: z
      .unknown()
      .optional()
      .meta({ example: { limit: 100, period: 60 } }),
  })
  .superRefine((entry, context) => {
    if (entry.type === "ratelimit")
      for (const issue of unsafeRateLimit.safeParse(entry).error?.issues ?? [])
        (context.issues as z.core.$ZodIssue[]).push(issue);
  });

/** Returns the rate limits among the entries of `unsafe.bindings`. */
export const rateLimitsAmong = (entries: readonly unknown[]): z.output<typeof unsafeRateLimit>[] =>
  entries.flatMap((entry) => unsafeRateLimit.safeParse(entry).data ?? []);

export const service = z.strictObject({
  binding: bindingName,
  service: workerNameField,
  entrypoint: z.string().regex(IDENTIFIER).optional().meta({ description: "a JavaScript name", example: "Admin" }),
  environment: z.literal("production").optional().meta({
    description: '"production"',
    fix: 'specify the worker of the environment in "service", for example "api-staging"',
  }),
  props: z.record(z.string(), z.json()).optional(),
  remote,
});

export const tailConsumer = z.strictObject({
  service: workerNameField,
  environment: z.literal("production").optional().meta({
    description: '"production"',
    fix: 'specify the worker of the environment in "service", for example "logs-staging"',
  }),
});

export const analyticsDataset = z.strictObject({
  binding: bindingName,
  dataset: z.string().min(1).max(100).optional(),
  remote,
});

const queueName = z
  .string()
  .regex(/^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/)
  .meta({
    description: "a queue name",
    example: "my-queue",
    fix: 'use 1 to 63 letters, digits, "-" and "_", with a letter or digit at both ends',
  });

const optionalInteger = (min: number, max: number, example: number) =>
  z.number().int().min(min).max(max).optional().meta({ example });
const { delaySeconds, consumer: consumerLimits } = queueLimits;

export const queues = z.strictObject({
  producers: arrayField(
    z.strictObject({
      binding: bindingName,
      queue: queueName.optional(),
      delivery_delay: optionalInteger(0, delaySeconds, 60),
      remote,
    }),
    { binding: "QUEUE", queue: "my-queue" },
  ),
  consumers: arrayField(
    z.strictObject({
      queue: queueName,
      type: z.literal("worker").optional(),
      max_batch_size: optionalInteger(1, consumerLimits.batchSize.max, 10),
      max_batch_timeout: optionalInteger(0, consumerLimits.maxWaitMs.max / 1000, 5),
      max_retries: optionalInteger(0, consumerLimits.maxRetries.max, 3),
      dead_letter_queue: queueName.optional(),
      max_concurrency: z.number().int().min(1).max(consumerLimits.maxConcurrency.max).nullish().meta({ example: 5 }),
      retry_delay: optionalInteger(0, delaySeconds, 60),
      visibility_timeout_ms: ignoredField,
    }),
    { queue: "my-queue" },
  ),
});

const className = z.string().max(objectLimits.classNameLength).regex(IDENTIFIER).meta({
  description: "the name of an exported class",
  example: "Counter",
});
const classNames = z
  .array(className)
  .optional()
  .meta({ example: ["Counter"] });

/** Bindings to Durable Object classes. */
export const durableObjects = z
  .strictObject({
    bindings: arrayField(
      z.strictObject({
        name: bindingName,
        class_name: className,
        script_name: workerNameField.optional(),
        environment: z
          .literal("production")
          .optional()
          .meta({ description: '"production"', fix: 'specify the worker of the environment in "script_name"' }),
        remote,
      }),
      { name: "COUNTER", class_name: "Counter" },
    ),
    code_update_strategy: ignoredField,
  })
  .optional()
  .meta({ example: { bindings: [{ name: "COUNTER", class_name: "Counter" }] } });

/** Changes to the worker's Durable Object classes, oldest first. */
export const objectMigrationsField = arrayField(
  z.strictObject({
    tag: z.string().min(1).max(objectLimits.migrationTagLength).meta({ example: "v1" }),
    new_sqlite_classes: classNames,
    new_classes: classNames,
    renamed_classes: arrayField(z.strictObject({ from: className, to: className }), { from: "Old", to: "New" }),
    deleted_classes: classNames,
    transferred_classes: z
      .array(z.unknown())
      .refine((list) => list.length === 0, "is not supported")
      .optional()
      .meta({ fix: "reelpost cannot transfer classes: create the class with new_sqlite_classes, and copy the data" }),
  }),
  { tag: "v1", new_sqlite_classes: ["Counter"] },
);
