import type { Basics } from "../basics.ts";
import type { Metrics } from "../metrics.ts";
import type { Settings } from "../settings.ts";
import type { Tracing } from "../tracing.ts";
import { readTelemetryConfig } from "./environment.ts";

export interface Telemetry {
  /** Absent unless traces are enabled. */
  tracing: Tracing | undefined;
  /** Sends these metrics until the returned function is called. */
  sendMetrics(metrics: Metrics): () => Promise<void>;
}

/**
 * Starts OpenTelemetry if `telemetry.enabled` is set. The libraries are loaded only then, so that a server without
 * telemetry starts no slower. Undefined if telemetry is disabled.
 */
export async function startTelemetry(
  { settings, env, version }: { settings: Settings; env: Record<string, string | undefined>; version: string },
  { clock, log, lifecycle }: Basics,
): Promise<Telemetry | undefined> {
  const config = readTelemetryConfig(settings, env);
  if (config === undefined) return undefined;
  if (config.unsupportedProtocol !== undefined)
    log.warn(
      `telemetry: OTEL_EXPORTER_OTLP_PROTOCOL=${config.unsupportedProtocol} is not supported, using http/json instead`,
    );
  const { startExporters } = await import("./exporters.ts");
  const exporters = startExporters(config, { version, clock, log });
  lifecycle.onStop("telemetry", () => exporters.close());
  return {
    tracing: exporters.tracing,
    sendMetrics: ({ registry }) => exporters.sendMetrics(registry),
  };
}
