import { z } from "@hono/zod-openapi";
import { MAX_TAIL_CONSUMERS, type ScriptSettings, type Upload, type Version } from "../../../workers/index.ts";
import { assetFields } from "./asset-fields.ts";
import { BINDING_TYPES, readBindings, sentBindings, type ReadOptions } from "./bindings.ts";
import { workerRouteErrors } from "./errors.ts";
import { migrationsPartOf, migrationsField } from "./migrations.ts";
import { observability, placement } from "./setting-fields.ts";

const annotations = z.record(z.string(), z.unknown());
/** Annotations that clients may set; the server sets all others. */
const CLIENT_ANNOTATIONS = ["workers/message", "workers/tag", "workers/alias"];
const MAX_MESSAGE_BYTES = 1000;

/** Fields of a script that apply to all its versions. */
const settingFields = {
  logpush: z.boolean().nullish(),
  observability: observability.nullish(),
  placement: placement.nullish(),
  tags: z.array(z.string().max(1024)).max(10).nullish(),
  tail_consumers: z
    .array(z.object({ service: z.string().min(1), environment: z.literal("production").nullish() }))
    .max(MAX_TAIL_CONSUMERS)
    .nullish(),
  usage_model: z.enum(["standard", "bundled", "unbound"]).nullish(),
};

/** Fields that belong to one version. */
export const versionFields = {
  bindings: sentBindings.nullish(),
  keep_bindings: z.array(z.string()).nullish(),
  compatibility_date: z.string().nullish(),
  compatibility_flags: z.array(z.string()).nullish(),
  limits: z.object({ cpu_ms: z.number().int().positive().nullish() }).nullish(),
  annotations: annotations.nullish(),
  migrations: migrationsField.nullish(),
};

/**
 * Features of the hosted service that this server does not support: rejected unless empty, because ignoring them would
 * change the worker's behaviour.
 */
export const unsupportedFields = {
  exports: z.unknown().optional(),
  containers: z.unknown().optional(),
};

const uploadMetadata = z.object({
  ...assetFields,
  main_module: z.string().nullish(),
  body_part: z.string().nullish(),
  ...settingFields,
  ...versionFields,
  ...unsupportedFields,
});
const settingsPatch = z.object({
  ...settingFields,
  ...versionFields,
  ...unsupportedFields,
  assets: z.unknown().optional(),
});
export type UploadMetadata = z.infer<typeof uploadMetadata>;
export type SettingsPatch = z.infer<typeof settingsPatch>;

/** Throws badMetadata with every invalid field, and notOffered. */
export const readUploadMetadata = (value: unknown, part = "metadata"): UploadMetadata =>
  rejectUnsupported(check(uploadMetadata, value, part));
export function readSettingsPatch(value: unknown, part = "settings"): SettingsPatch {
  const patch = rejectUnsupported(check(settingsPatch, value, part));
  if (!isEmpty(patch.migrations))
    throw workerRouteErrors.notOffered({
      what: "Migrations without an upload (`migrations`)",
      fix: "Upload a new version with the migrations.",
    });
  if (!isEmpty(patch.assets))
    throw workerRouteErrors.notOffered({
      what: "Settings of static assets (`assets`)",
      fix: "Upload a new version with them.",
    });
  return patch;
}

function check<Fields>(schema: z.ZodType<Fields>, value: unknown, part: string): Fields {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, 20)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  throw workerRouteErrors.badMetadata({ part, reason: issues.join("; "), fix: "Correct these fields." });
}

export function rejectUnsupported<Fields extends { [Name in keyof typeof unsupportedFields]?: unknown }>(
  fields: Fields,
): Fields {
  const fix = "Remove them from the configuration.";
  if (!isEmpty(fields.exports)) throw workerRouteErrors.notOffered({ what: "Declared exports (`exports`)", fix });
  if (!isEmpty(fields.containers)) throw workerRouteErrors.notOffered({ what: "Containers (`containers`)", fix });
  return fields;
}

/** True for null, "", [], {}, and containers of empty values. */
const isEmpty = (value: unknown): boolean => {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.values(value).every(isEmpty);
};

/** Throws unknownBinding, badBinding, badMetadata. */
export function versionPartOf(
  metadata: Partial<Pick<UploadMetadata, keyof typeof versionFields>>,
  options: ReadOptions,
): Pick<Upload, "bindings" | "keepBindings" | "compatibilityFlags"> &
  Partial<Pick<Upload, "compatibilityDate" | "limits" | "annotations" | "migrations">> {
  const { bindings, keep_bindings, compatibility_date, compatibility_flags, limits } = metadata;
  return {
    bindings: readBindings(bindings ?? [], options),
    // Clients also request to keep types that this server does not support, such as secret_key; no such bindings exist.
    keepBindings: BINDING_TYPES.filter((type) => keep_bindings?.includes(type) === true),
    compatibilityFlags: compatibility_flags ?? [],
    // Terraform sends an empty date for a worker without one.
    ...(typeof compatibility_date === "string" &&
      compatibility_date !== "" && { compatibilityDate: compatibility_date }),
    ...(typeof limits?.cpu_ms === "number" && { limits: { cpuMs: limits.cpu_ms } }),
    ...migrationsPartOf(metadata.migrations),
    ...(metadata.annotations && { annotations: readAnnotations(metadata.annotations) }),
  };
}

/** Returns only the given settings; omitted settings keep their values. */
export function settingsPartOf({
  logpush,
  observability,
  placement,
  tags,
  tail_consumers,
  usage_model,
}: Partial<Pick<UploadMetadata, keyof typeof settingFields>>): Partial<ScriptSettings> {
  return {
    ...(typeof logpush === "boolean" && { logpush }),
    ...(observability !== undefined && { observability }),
    ...(placement !== undefined && { placement: placement === null || isEmpty(placement) ? null : placement }),
    ...(tags !== undefined && { tags: tags ?? [] }),
    ...(tail_consumers !== undefined && {
      tailConsumers: (tail_consumers ?? []).map(({ service, environment }) => ({
        service,
        ...(typeof environment === "string" && { environment }),
      })),
    }),
    ...(typeof usage_model === "string" && { usageModel: usage_model }),
  };
}

/** A message that is too long is truncated, as the published API specifies. */
export function readAnnotations(sentAnnotations: Record<string, unknown>): Record<string, string> {
  const texts = CLIENT_ANNOTATIONS.flatMap((name): [string, string][] =>
    typeof sentAnnotations[name] === "string" ? [[name, cut(sentAnnotations[name])]] : [],
  );
  return Object.fromEntries(texts);
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_MESSAGE_BYTES) return text;
  // Truncation must not split a character.
  return new TextDecoder().decode(bytes.subarray(0, MAX_MESSAGE_BYTES)).replace(/�+$/, "");
}

/** Returns the upload that would create a version like this one: the base for changing a single field. */
export const uploadFromVersion = (version: Version, modules: Upload["modules"]): Upload => ({
  format: version.format,
  main: version.main,
  modules,
  bindings: version.bindings.map(({ name }) => ({ type: "inherit", name, versionId: version.id })),
  keepBindings: [],
  inheritStrictly: true,
  compatibilityDate: version.compatibilityDate,
  compatibilityFlags: version.compatibilityFlags,
  ...(version.limits !== undefined && { limits: version.limits }),
  ...(version.hasAssets && { assets: {} }),
});
