import { aiGatewayErrors } from "./errors.ts";
import { aiGatewayLimits } from "./limits.ts";
import type { AiGatewaySettings, LogMetadata } from "./port.ts";

/** Throws badSetting. */
export function checkGatewayId(id: string): void {
  if (new RegExp(`^[a-zA-Z0-9_-]{1,${aiGatewayLimits.idLength}}$`).test(id)) return;
  throw aiGatewayErrors.badSetting({
    field: "id",
    reason: JSON.stringify(id.slice(0, 100)),
    fix: `Use 1 to ${aiGatewayLimits.idLength} letters, digits, - and _.`,
  });
}

/** Throws badSetting. */
export function checkSettings({ cacheTtl, rateLimit, rateLimitInterval, logLimit }: AiGatewaySettings): void {
  checkNumber("cache_ttl", cacheTtl, 0, aiGatewayLimits.cacheTtlSeconds);
  checkNumber("rate_limiting_limit", rateLimit, 0, aiGatewayLimits.rateLimitRequests);
  checkNumber("rate_limiting_interval", rateLimitInterval, 0, aiGatewayLimits.rateLimitSeconds);
  if (rateLimit > 0 && rateLimitInterval === 0)
    throw aiGatewayErrors.badSetting({
      field: "rate_limiting_interval",
      reason: "it is 0, but rate_limiting_limit is not",
      fix: "Set both to more than 0, or both to 0 for no limit.",
    });
  checkNumber("log_management", logLimit, 1, aiGatewayLimits.logsPerGateway);
}

function checkNumber(field: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const fix = `Use an integer from ${min} to ${max}.`;
  throw aiGatewayErrors.badSetting({ field, reason: String(value), fix });
}

/** Throws badSetting. */
export function checkMetadata(metadata: LogMetadata): void {
  const isFlat = Object.values(metadata).every((value) => value === null || typeof value !== "object");
  if (isFlat && JSON.stringify(metadata).length <= aiGatewayLimits.metadataChars) return;
  throw aiGatewayErrors.badSetting({
    field: "metadata",
    reason: isFlat ? "it is too long" : "a value is an object",
    fix: `Use strings, numbers and booleans, at most ${aiGatewayLimits.metadataChars} characters as JSON.`,
  });
}
