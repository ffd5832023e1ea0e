import { z } from "@hono/zod-openapi";
import {
  aiGatewayErrors,
  defaultAiGatewaySettings,
  type AiGateway,
  type AiGatewayLog,
  type AiGateways,
  type AiGatewaySettings,
} from "../../../workers/index.ts";
import type { Call } from "../../operation.ts";

export interface AiGatewayRouteDeps {
  gateways: AiGateways;
  /** Returns the URL of this server without a path, for a request. */
  origin(call: Pick<Call, "request" | "node">): string;
}

export const GATEWAYS_PATH = "/accounts/{account_id}/ai-gateway/gateways";
export const GATEWAY_PATH = `${GATEWAYS_PATH}/{gateway_id}`;

export const GATEWAY_READ_OPTIONS = { tag: "AI Gateway", permission: "AI Gateway Read" } as const;
export const GATEWAY_WRITE_OPTIONS = { tag: "AI Gateway", permission: "AI Gateway Write" } as const;

/** Settings that the hosted service offers and this server does not. Null, false and empty values are accepted. */
const UNSUPPORTED_SETTINGS = [
  "byok_only",
  "dlp",
  "guardrails",
  "log_classification",
  "logpush",
  "logpush_public_key",
  "otel",
  "retry_backoff",
  "retry_delay",
  "retry_max_attempts",
  "spend_limits",
  "store_id",
  "stripe",
  "zdr",
] as const;

const number = z.number().nullish();
const settingsFields = {
  cache_invalidate_on_update: z.boolean().optional(),
  cache_ttl: number,
  collect_logs: z.boolean().optional(),
  rate_limiting_interval: number,
  rate_limiting_limit: number,
  rate_limiting_technique: z.enum(["fixed", "sliding"]).nullish(),
  authentication: z.boolean().optional(),
  log_management: number,
  log_management_strategy: z.enum(["STOP_INSERTING", "DELETE_OLDEST"]).nullish(),
  workers_ai_billing_mode: z.string().optional(),
  ...(Object.fromEntries(UNSUPPORTED_SETTINGS.map((name) => [name, z.unknown().optional()])) as Record<
    (typeof UNSUPPORTED_SETTINGS)[number],
    z.ZodOptional<z.ZodUnknown>
  >),
};
export const settingsBody = z.object(settingsFields);
export const newGatewayBody = z.object({ id: z.string(), ...settingsFields });

/** Returns the settings in a body; those that it omits come from `current`. Throws unsupportedSetting. */
export function toGatewaySettings(
  body: z.output<typeof settingsBody>,
  current: AiGatewaySettings = defaultAiGatewaySettings,
): AiGatewaySettings {
  for (const field of UNSUPPORTED_SETTINGS) if (isSet(body[field])) throw aiGatewayErrors.unsupportedSetting({ field });
  return {
    cacheTtl: body.cache_ttl === undefined ? current.cacheTtl : (body.cache_ttl ?? 0),
    cacheInvalidateOnUpdate: body.cache_invalidate_on_update ?? current.cacheInvalidateOnUpdate,
    collectLogs: body.collect_logs ?? current.collectLogs,
    rateLimit: body.rate_limiting_limit === undefined ? current.rateLimit : (body.rate_limiting_limit ?? 0),
    rateLimitInterval:
      body.rate_limiting_interval === undefined ? current.rateLimitInterval : (body.rate_limiting_interval ?? 0),
    rateLimitTechnique: body.rate_limiting_technique ?? current.rateLimitTechnique,
    authentication: body.authentication ?? current.authentication,
    logLimit: body.log_management ?? current.logLimit,
    logStrategy: body.log_management_strategy ?? current.logStrategy,
  };
}

/** False for a value that disables a setting: null, false, 0, an empty text or list, or `{ enabled: false }`. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value !== "object" || value === null) return Boolean(value);
  return (value as { enabled?: unknown }).enabled !== false && Object.keys(value).length > 0;
}

const timestamp = z.iso.datetime();

export const gatewayShape = z
  .object({
    id: z.string(),
    cache_invalidate_on_update: z.boolean(),
    cache_ttl: z.number().int().nullable(),
    collect_logs: z.boolean(),
    rate_limiting_interval: z.number().int().nullable(),
    rate_limiting_limit: z.number().int().nullable(),
    rate_limiting_technique: z.enum(["fixed", "sliding"]),
    authentication: z.boolean(),
    log_management: z.number().int(),
    log_management_strategy: z.enum(["STOP_INSERTING", "DELETE_OLDEST"]),
    logpush: z.literal(false),
    is_default: z.boolean(),
    created_at: timestamp,
    modified_at: timestamp,
  })
  .openapi("AiGateway");

export const shownGateway = (gateway: AiGateway): z.input<typeof gatewayShape> => ({
  id: gateway.id,
  cache_invalidate_on_update: gateway.cacheInvalidateOnUpdate,
  cache_ttl: gateway.cacheTtl,
  collect_logs: gateway.collectLogs,
  rate_limiting_interval: gateway.rateLimitInterval,
  rate_limiting_limit: gateway.rateLimit,
  rate_limiting_technique: gateway.rateLimitTechnique,
  authentication: gateway.authentication,
  log_management: gateway.logLimit,
  log_management_strategy: gateway.logStrategy,
  logpush: false,
  is_default: gateway.id === "default",
  created_at: gateway.createdAt.toISOString(),
  modified_at: gateway.modifiedAt.toISOString(),
});

const logFields = {
  id: z.string(),
  cached: z.boolean(),
  created_at: timestamp,
  duration: z.number().int(),
  model: z.string(),
  path: z.string(),
  provider: z.string(),
  success: z.boolean(),
  tokens_in: z.number().int().nullable(),
  tokens_out: z.number().int().nullable(),
  /** JSON. */
  metadata: z.string().optional(),
  request_content_type: z.string(),
  response_content_type: z.string(),
  status_code: z.number().int(),
  step: z.number().int(),
};

export const logShape = z.object(logFields).openapi("AiGatewayLog");
export const logDetailsShape = z
  .object({
    ...logFields,
    request_size: z.number().int(),
    request_head: z.string(),
    request_head_complete: z.boolean(),
    response_size: z.number().int(),
    response_head: z.string(),
    response_head_complete: z.boolean(),
  })
  .openapi("AiGatewayLogDetails");

export const shownLog = (log: AiGatewayLog): z.input<typeof logShape> => ({
  id: log.id,
  cached: log.cached,
  created_at: log.createdAt.toISOString(),
  duration: log.duration,
  model: log.model,
  path: log.path,
  provider: log.provider,
  success: log.success,
  tokens_in: log.tokensIn,
  tokens_out: log.tokensOut,
  ...(log.metadata !== null && { metadata: JSON.stringify(log.metadata) }),
  request_content_type: log.requestType,
  response_content_type: log.responseType,
  status_code: log.status,
  step: log.step,
});

export const shownLogDetails = (log: AiGatewayLog): z.input<typeof logDetailsShape> => ({
  ...shownLog(log),
  request_size: log.requestSize,
  request_head: log.requestHead,
  request_head_complete: log.requestComplete,
  response_size: log.responseSize,
  response_head: log.responseHead,
  response_head_complete: log.responseComplete,
});
