import type { Settings } from "../settings.ts";

type Environment = Record<string, string | undefined>;

/** Where and how telemetry is sent. */
export interface TelemetryConfig {
  /** Full URLs. Undefined if the signal is disabled. */
  traces: string | undefined;
  metrics: string | undefined;
  headers: { traces: Record<string, string>; metrics: Record<string, string> };
  /** Time limit for one export, with its retries, in milliseconds. */
  timeoutMs: { traces: number; metrics: number };
  /** Resource attributes, with `service.name`. */
  resource: Record<string, string>;
  sampleRatio: number;
  metricsMs: number;
  /** The value of OTEL_EXPORTER_OTLP_PROTOCOL, if it is not supported. */
  unsupportedProtocol: string | undefined;
}

type Signal = "traces" | "metrics";

/** Port of OTLP over HTTP (OTLP specification, "OTLP/HTTP Default Port"). */
const DEFAULT_ENDPOINT = "http://localhost:4318";
const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Merges the settings with the variables of the OpenTelemetry specification ("Environment Variable Specification",
 * "OTLP Exporter Configuration"). A setting with a value takes precedence. Undefined if telemetry is disabled.
 */
export function readTelemetryConfig(
  { telemetry }: Pick<Settings, "telemetry">,
  env: Environment,
): TelemetryConfig | undefined {
  if (!telemetry.enabled || env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return undefined;
  const isOn = (signal: Signal) =>
    telemetry[signal] && env[`OTEL_${signal.toUpperCase()}_EXPORTER`]?.trim().toLowerCase() !== "none";
  const traces = isOn("traces") ? endpointOf("traces", telemetry.endpoint, env) : undefined;
  const metrics = isOn("metrics") ? endpointOf("metrics", telemetry.endpoint, env) : undefined;
  if (traces === undefined && metrics === undefined) return undefined;
  const protocol = valueOf(env, "OTEL_EXPORTER_OTLP_PROTOCOL");
  return {
    traces,
    metrics,
    headers: { traces: headersOf("traces", env), metrics: headersOf("metrics", env) },
    timeoutMs: { traces: timeoutMsOf("traces", env), metrics: timeoutMsOf("metrics", env) },
    resource: {
      ...readPairs(valueOf(env, "OTEL_RESOURCE_ATTRIBUTES")),
      "service.name": telemetry.service_name || serviceNameOf(env),
    },
    sampleRatio: telemetry.sample_ratio,
    metricsMs: telemetry.metrics_seconds * 1000,
    unsupportedProtocol: protocol !== undefined && protocol !== "http/json" ? protocol : undefined,
  };
}

/** The specification treats an empty variable as unset. */
const valueOf = (env: Environment, name: string) => env[name]?.trim() || undefined;

function serviceNameOf(env: Environment): string {
  return (
    valueOf(env, "OTEL_SERVICE_NAME") ??
    readPairs(valueOf(env, "OTEL_RESOURCE_ATTRIBUTES"))["service.name"] ??
    "reelpost"
  );
}

/** The variable of one signal is a complete URL; the common one is a base URL, to which the path is appended. */
function endpointOf(signal: Signal, setting: string, env: Environment): string {
  if (setting === "") {
    const own = valueOf(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`);
    if (own !== undefined) return own;
  }
  const base = setting || (valueOf(env, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? DEFAULT_ENDPOINT);
  return `${base.replace(/\/+$/, "")}/v1/${signal}`;
}

const headersOf = (signal: Signal, env: Environment) => ({
  ...readPairs(valueOf(env, "OTEL_EXPORTER_OTLP_HEADERS")),
  ...readPairs(valueOf(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_HEADERS`)),
});

/** The specification ignores invalid values. A timer cannot wait for more than 2^31 - 1 ms. */
function timeoutMsOf(signal: Signal, env: Environment): number {
  const text =
    valueOf(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_TIMEOUT`) ?? valueOf(env, "OTEL_EXPORTER_OTLP_TIMEOUT");
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : DEFAULT_TIMEOUT_MS;
}

/** `name=value,name=value` with percent-encoded values, as in W3C Baggage. Malformed members are ignored. */
function readPairs(text: string | undefined): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const member of (text ?? "").split(",")) {
    const split = member.indexOf("=");
    const name = member.slice(0, Math.max(split, 0)).trim();
    if (name === "") continue;
    try {
      pairs[name] = decodeURIComponent(member.slice(split + 1).trim());
    } catch {
      // The percent-encoding is invalid.
    }
  }
  return pairs;
}
