import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const telemetrySettings = group("OpenTelemetry: traces and metrics, sent to a collector via OTLP over HTTP", {
  enabled: z.boolean().default(false).meta({
    description: "Send traces and metrics. `OTEL_SDK_DISABLED=true` overrides it",
    example: true,
  }),
  endpoint: z
    .string()
    .regex(/^(https?:\/\/\S+)?$/, "must be an http or https URL")
    .default("")
    .meta({
      description:
        "Base URL of the collector, without `/v1/traces`; empty: `OTEL_EXPORTER_OTLP_ENDPOINT`, or `http://localhost:4318`",
      example: "http://127.0.0.1:4318",
    }),
  service_name: z.string().max(255).default("").meta({
    description: "Value of `service.name`; empty: `OTEL_SERVICE_NAME`, or `reelpost`",
    example: "reelpost-eu",
  }),
  traces: z.boolean().default(true).meta({ description: "Send traces", example: true }),
  metrics: z.boolean().default(true).meta({ description: "Export the metrics from `/metrics`", example: true }),
  sample_ratio: z.number().min(0).max(1).default(1).meta({
    description:
      "Fraction of traces to record, from 0 to 1. A request whose `traceparent` is not sampled is never recorded",
    example: 0.1,
  }),
  metrics_seconds: count(60, 1, 3600, "Seconds between metrics exports"),
});
