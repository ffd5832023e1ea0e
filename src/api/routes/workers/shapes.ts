import { z } from "@hono/zod-openapi";
import { OLDEST_COMPATIBILITY_DATE, type Deployment, type Script, type Version } from "../../../workers/index.ts";
import { shownBinding } from "./bindings.ts";
import { shownObservability, shownPlacement } from "./setting-fields.ts";

const loose = z.record(z.string(), z.unknown());
const instant = z.iso.datetime();
export const nullResult = z.null();

/** A script as returned in lists and upload results. */
export const scriptShape = z.looseObject({
  id: z.string(),
  tag: z.string(),
  tags: z.array(z.string()),
  etag: z.string().optional(),
  created_on: instant,
  modified_on: instant,
  handlers: z.array(z.string()),
  has_modules: z.boolean(),
  has_assets: z.boolean(),
  logpush: z.boolean(),
  usage_model: z.string(),
  observability: loose,
  tail_consumers: z.array(loose),
});

export function shownScript({ latest, live: _live, ...script }: Script) {
  return {
    id: script.name,
    tag: script.id,
    tags: script.tags,
    created_on: script.createdAt.toISOString(),
    modified_on: script.modifiedAt.toISOString(),
    handlers: latest?.handlers ?? [],
    has_modules: latest?.format !== "service-worker" && latest?.main !== "",
    has_assets: latest?.hasAssets ?? false,
    logpush: script.logpush,
    usage_model: script.usageModel,
    observability: shownObservability(script.observability),
    tail_consumers: script.tailConsumers,
    ...shownPlacement(script.placement),
    ...(script.migrationTag !== undefined && { migration_tag: script.migrationTag }),
    ...(latest !== undefined && {
      etag: latest.etag,
      last_deployed_from: latest.author.source,
      ...showCompatibility(latest),
    }),
  };
}

const showCompatibility = ({ compatibilityDate, compatibilityFlags }: Version) => ({
  compatibility_date: compatibilityDate,
  compatibility_flags: compatibilityFlags,
});
const showLimits = ({ limits }: Version) => (limits?.cpuMs === undefined ? {} : { limits: { cpu_ms: limits.cpuMs } });

export const uploadShape = scriptShape.extend({
  deployment_id: z.string(),
  startup_time_ms: z.number().int(),
  entry_point: z.string(),
  pipeline_hash: z.string(),
  mutable_pipeline_id: z.string(),
  available_on_subdomain: z.boolean(),
});

/**
 * Returns the response to PUT of a script. wrangler prints `deployment_id` as the version id, so it is the new
 * version's id.
 */
export const shownUpload = (script: Script, version: Version) => ({
  ...shownScript({ ...script, latest: version }),
  deployment_id: version.id,
  startup_time_ms: version.startupMs,
  entry_point: version.main,
  pipeline_hash: version.etag,
  mutable_pipeline_id: script.id,
  available_on_subdomain: script.subdomainEnabled,
});

export const scriptSettingsShape = z.looseObject({
  logpush: z.boolean(),
  tags: z.array(z.string()),
  tail_consumers: z.array(loose),
  observability: loose,
});

/** Settings of a script that apply to all its versions. */
export const shownScriptSettings = ({ logpush, tags, tailConsumers, observability }: Script) => ({
  logpush,
  tags,
  tail_consumers: tailConsumers,
  observability: shownObservability(observability),
});

export const settingsShape = scriptSettingsShape
  .omit({ observability: true })
  .extend({ observability: loose.optional(), bindings: z.array(loose), usage_model: z.string() });

/**
 * Overrides that omit settings that were never specified: Terraform would plan to remove them from the worker. The
 * oldest compatibility date is indistinguishable from an absent one.
 */
export const withoutDefaults = ({ observability, latest }: Script) => ({
  ...(observability === null && { observability: undefined }),
  ...(latest?.compatibilityDate === OLDEST_COMPATIBILITY_DATE && { compatibility_date: undefined }),
});

export const shownSettings = (script: Script) => ({
  ...shownScriptSettings(script),
  ...placementOf(script),
  usage_model: script.usageModel,
  bindings: script.latest?.bindings.map(shownBinding) ?? [],
  compatibility_flags: [],
  ...(script.latest !== undefined && {
    ...showCompatibility(script.latest),
    ...showLimits(script.latest),
    annotations: script.latest.annotations,
  }),
  ...withoutDefaults(script),
});

const placementOf = ({ placement }: Script) => {
  const shown = shownPlacement(placement);
  return shown.placement === undefined ? {} : { placement: shown.placement };
};

const versionMetadata = z.object({
  created_on: instant,
  modified_on: instant,
  source: z.string(),
  author_id: z.string(),
  author_email: z.string(),
  hasPreview: z.boolean(),
});
export const versionItemShape = z.object({
  id: z.string(),
  number: z.number().int(),
  metadata: versionMetadata,
  annotations: z.record(z.string(), z.string()),
});
export const versionShape = versionItemShape.extend({
  resources: z.object({ script: z.looseObject({ etag: z.string() }), script_runtime: loose, bindings: z.array(loose) }),
  startup_time_ms: z.number().int(),
});

export const shownVersionItem = ({ id, number, author, createdAt, annotations }: Version) => ({
  id,
  number,
  metadata: {
    created_on: createdAt.toISOString(),
    modified_on: createdAt.toISOString(),
    source: author.source,
    author_id: author.id,
    author_email: author.email,
    hasPreview: false,
  },
  annotations,
});

export const shownVersion = (version: Version) => ({
  ...shownVersionItem(version),
  resources: {
    script: {
      etag: version.etag,
      handlers: version.handlers,
      named_handlers: [],
      last_deployed_from: version.author.source,
    },
    script_runtime: { ...showCompatibility(version), ...showLimits(version), usage_model: "standard" },
    bindings: version.bindings.map(shownBinding),
  },
  startup_time_ms: version.startupMs,
});

export const deploymentShape = z.object({
  id: z.string(),
  source: z.string(),
  strategy: z.literal("percentage"),
  author_email: z.string(),
  annotations: z.record(z.string(), z.string()),
  versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
  created_on: instant,
});

export const shownDeployment = ({ id, author, annotations, versions, createdAt }: Deployment) => ({
  id,
  source: author.source,
  strategy: "percentage" as const,
  author_email: author.email,
  annotations,
  versions: versions.map(({ versionId, percentage }) => ({ version_id: versionId, percentage })),
  created_on: createdAt.toISOString(),
});
