import { checkMetadata } from "./checks.ts";
import { aiGatewayErrors } from "./errors.ts";
import { aiGatewayLimits } from "./limits.ts";
import type { LogMetadata } from "./port.ts";

/** Settings of one request; they override those of the gateway. */
export interface GatewayOptions {
  skipCache: boolean;
  /** Seconds. */
  cacheTtl: number | undefined;
  /** Replaces the key that is computed from the request. */
  cacheKey: string | undefined;
  collectLog: boolean | undefined;
  metadata: LogMetadata | null;
  /** Maximum time until the provider responds. */
  timeoutMs: number | undefined;
}

/** Reads the `cf-aig-*` headers. Throws badRequest, badSetting. */
export function gatewayOptions(headers: Headers): GatewayOptions {
  const cacheKey = headers.get("cf-aig-cache-key") ?? undefined;
  if (cacheKey !== undefined && cacheKey.length > aiGatewayLimits.cacheKeyChars)
    throw badHeader("cf-aig-cache-key", `Use at most ${aiGatewayLimits.cacheKeyChars} characters.`);
  return {
    skipCache: flag(headers, "cf-aig-skip-cache") ?? false,
    cacheTtl: count(headers, "cf-aig-cache-ttl"),
    cacheKey,
    collectLog: flag(headers, "cf-aig-collect-log"),
    metadata: metadataOf(headers.get("cf-aig-metadata")),
    timeoutMs: count(headers, "cf-aig-request-timeout"),
  };
}

const badHeader = (name: string, fix: string) =>
  aiGatewayErrors.badRequest({ reason: `the header ${name} is not valid`, fix });

function flag(headers: Headers, name: string): boolean | undefined {
  const value = headers.get(name);
  if (value === null) return undefined;
  if (value !== "true" && value !== "false") throw badHeader(name, "Use true or false.");
  return value === "true";
}

function count(headers: Headers, name: string): number | undefined {
  const value = headers.get(name);
  if (value === null) return undefined;
  if (!/^\d{1,9}$/.test(value)) throw badHeader(name, "Use a whole number.");
  return Number(value);
}

function metadataOf(value: string | null): LogMetadata | null {
  if (value === null) return null;
  let metadata: unknown;
  try {
    metadata = JSON.parse(value);
  } catch {
    metadata = undefined;
  }
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))
    throw badHeader("cf-aig-metadata", 'Use a JSON object such as {"user":"ada"}.');
  checkMetadata(metadata as LogMetadata);
  return metadata as LogMetadata;
}
