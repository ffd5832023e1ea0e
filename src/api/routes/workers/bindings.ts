import { z } from "@hono/zod-openapi";
import { objectLimits, queueLimits, type Binding, type InheritedBinding } from "../../../workers/index.ts";
import { RATE_LIMIT_NAMESPACE } from "../../../workers/project/index.ts";
import { workerRouteErrors } from "./errors.ts";

const addresses = z.array(z.string()).nullish();
/** wrangler sends `id`; the published API specifies `database_id`. */
const d1 = z
  .object({ id: z.string().optional(), database_id: z.string().optional() })
  .refine(({ id, database_id }) => (database_id ?? id) !== undefined, { path: ["id"] });

/** The fields of each binding type in addition to name and type. */
const FIELDS = {
  plain_text: z.object({ text: z.string() }).transform(({ text }) => ({ type: "plain_text" as const, text })),
  json: z
    .object({ json: z.unknown().refine((json) => json !== undefined, "is missing") })
    .transform(({ json }) => ({ type: "json" as const, json })),
  secret_text: z.object({ text: z.string() }).transform(({ text }) => ({ type: "secret_text" as const, text })),
  kv_namespace: z
    .object({ namespace_id: z.string() })
    .transform(({ namespace_id }) => ({ type: "kv_namespace" as const, namespace_id })),
  r2_bucket: z
    .object({ bucket_name: z.string() })
    .transform(({ bucket_name }) => ({ type: "r2_bucket" as const, bucket_name })),
  d1: d1.transform(({ id, database_id }) => ({ type: "d1" as const, id: (database_id ?? id)! })),
  queue: z
    .object({ queue_name: z.string(), delivery_delay: z.number().int().min(0).max(queueLimits.delaySeconds).nullish() })
    .transform(({ queue_name, delivery_delay }) => ({
      type: "queue" as const,
      queue_name,
      ...(typeof delivery_delay === "number" && { delivery_delay }),
    })),
  version_metadata: z.object({}).transform(() => ({ type: "version_metadata" as const })),
  ratelimit: z
    .object({
      namespace_id: z.string().regex(RATE_LIMIT_NAMESPACE),
      simple: z.object({
        limit: z.number().int().min(1),
        period: z.union([z.literal(10), z.literal(60)]),
        // Blocking a key for longer than the period is not supported.
        mitigation_timeout: z.literal(0).nullish(),
      }),
    })
    .transform(({ namespace_id, simple: { limit, period } }) => ({
      type: "ratelimit" as const,
      namespace_id,
      simple: { limit, period },
    })),
  analytics_engine: z
    .object({ name: z.string(), dataset: z.string().min(1).max(100).nullish() })
    .transform(({ name, dataset }) => ({ type: "analytics_engine" as const, dataset: dataset ?? name })),
  service: z
    .object({
      service: z.string().min(1),
      entrypoint: z.string().min(1).nullish(),
      environment: z.literal("production").nullish(),
      props: z.record(z.string(), z.unknown()).nullish(),
    })
    .transform(({ service, entrypoint, props }) => ({
      type: "service" as const,
      service,
      ...pickDefined({ entrypoint, props }),
    })),
  secrets_store_secret: z
    .object({ store_id: z.string().min(1), secret_name: z.string().min(1) })
    .transform((fields) => ({ type: "secrets_store_secret" as const, ...fields })),
  ai: z.object({}).transform(() => ({ type: "ai" as const })),
  durable_object_namespace: z
    .object({
      class_name: z.string().min(1).max(objectLimits.classNameLength).nullish(),
      script_name: z.string().min(1).nullish(),
      environment: z.literal("production").nullish(),
      namespace_id: z.string().nullish(),
    })
    .refine(({ class_name }) => typeof class_name === "string", { path: ["class_name"] })
    .transform(({ class_name, script_name }) => ({
      type: "durable_object_namespace" as const,
      class_name: class_name!,
      ...pickDefined({ script_name }),
    })),
  assets: z.object({}).transform(() => ({ type: "assets" as const })),
  stream: z.object({}).transform(() => ({ type: "stream" as const })),
  send_email: z
    .object({
      destination_address: z.string().nullish(),
      allowed_destination_addresses: addresses,
      allowed_sender_addresses: addresses,
    })
    .transform((fields) => ({ type: "send_email" as const, ...pickDefined(fields) })),
} satisfies Record<Binding["type"], z.ZodType>;

export const BINDING_TYPES = Object.keys(FIELDS) as Binding["type"][];

const inheritedSchema = z.object({ old_name: z.string().nullish(), version_id: z.string().nullish() });
const namedSchema = z.object({ name: z.string(), type: z.string() });

/** Bindings as received, not validated. */
export const sentBindings = z.array(z.record(z.string(), z.unknown()));
type SentBinding = z.infer<typeof sentBindings>[number];

export interface ReadOptions {
  /** The part or field that contains the bindings, for error messages. */
  part: string;
  /**
   * Existing bindings: a binding sent with only name and type is inherited, because clients cannot know secret values.
   */
  present?: readonly Binding[];
}

/** Throws unknownBinding, badMetadata. Does not check for unique names or existing targets. */
export const readBindings = (sent: SentBinding[], options: ReadOptions): (Binding | InheritedBinding)[] =>
  sent.map((binding, index) => readBinding(binding, index, options));

function readBinding(
  sent: SentBinding,
  index: number,
  { part, present = [] }: ReadOptions,
): Binding | InheritedBinding {
  const head = namedSchema.safeParse(sent);
  if (!head.success)
    throw workerRouteErrors.badMetadata({
      part,
      reason: `bindings[${index}] has no ${head.error.issues.map(({ path }) => path.join(".")).join(" and no ")}`,
      fix: "Give every binding a name and a type.",
    });
  const { name, type } = head.data;
  if (type === "inherit") {
    const { old_name, version_id } = checkFields(inheritedSchema, sent, head.data);
    return {
      type,
      name,
      ...(typeof old_name === "string" && { oldName: old_name }),
      ...(typeof version_id === "string" && version_id !== "latest" && { versionId: version_id }),
    };
  }
  const isBare = Object.keys(sent).length === 2;
  if (isBare && present.some((binding) => binding.name === name && binding.type === type))
    return { type: "inherit", name };
  if (!Object.hasOwn(FIELDS, type))
    throw workerRouteErrors.unknownBinding({ name, type, types: [...BINDING_TYPES, "inherit"].join(", ") });
  return { ...checkFields(FIELDS[type as Binding["type"]] as unknown as z.ZodType<Binding>, sent, head.data), name };
}

function checkFields<Fields>(
  schema: z.ZodType<Fields>,
  sent: SentBinding,
  { name, type }: z.infer<typeof namedSchema>,
): Fields {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  throw workerRouteErrors.badBinding({ name, type, field: parsed.error.issues[0]!.path.join(".") });
}

type DefinedFields<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
const pickDefined = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as DefinedFields<Fields>;

/** Returns a binding in API form: without secret values; a database has its id in both fields. */
export function shownBinding(binding: Binding): Record<string, unknown> {
  if (binding.type === "secret_text") return { name: binding.name, type: binding.type };
  if (binding.type === "d1") return { ...binding, database_id: binding.id };
  return { ...binding };
}
