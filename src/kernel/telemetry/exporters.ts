import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, isSpanContextValid, trace, type Context } from "@opentelemetry/api";
import { ExportResultCode, W3CTraceContextPropagator, type ExportResult } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes, type Resource } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from "@opentelemetry/sdk-trace";
import type { Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { SpanOptions, Tracing } from "../tracing.ts";
import type { TelemetryConfig } from "./environment.ts";
import { createMetricProducer } from "./metric-producer.ts";

export interface Exporters {
  /** Absent if traces are disabled. */
  tracing: Tracing | undefined;
  /** Sends the metrics of this registry from now on; has no effect if metrics are disabled. Returns a stop function. */
  sendMetrics(registry: Registry): () => Promise<void>;
  /** Sends what is queued, for at most two seconds. */
  close(): Promise<void>;
}

interface ExporterDeps {
  version: string;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** Maximum number of spans that wait for the collector. Further spans are dropped. */
const MAX_QUEUED_SPANS = 4096;
const MAX_SPANS_PER_EXPORT = 512;
/** Time limit for the last export when the server stops. */
const CLOSE_MS = 2000;
/** Minimum interval between two log lines about failed exports of one signal. */
const LOG_INTERVAL_MS = 60_000;

/** Starts the exporters. They send in the background and never delay or fail the work that they measure. */
export function startExporters(config: TelemetryConfig, { version, clock, log }: ExporterDeps): Exporters {
  const resource = resourceFromAttributes({ "service.version": version, ...config.resource });
  const startedAt = clock.now();
  const failures = { traces: failureLog("spans", { clock, log }), metrics: failureLog("metrics", { clock, log }) };
  const traces = config.traces === undefined ? undefined : startTraces(config, resource, failures.traces);

  return {
    tracing: traces?.tracing(version),
    sendMetrics(registry) {
      if (config.metrics === undefined) return async () => {};
      const exporter = new OTLPMetricExporter({
        url: config.metrics,
        headers: config.headers.metrics,
        timeoutMillis: config.timeoutMs.metrics,
      });
      const reader = new PeriodicExportingMetricReader({
        exporter: reported<PushMetricExporter>(exporter, failures.metrics),
        exportIntervalMillis: config.metricsMs,
        exportTimeoutMillis: Math.min(config.timeoutMs.metrics, config.metricsMs),
        metricProducers: [createMetricProducer(registry, { startedAt, now: clock.now, version })],
      });
      const provider = new MeterProvider({ resource, readers: [reader] });
      return () => withinLimit(provider.shutdown());
    },
    close: async () => void (await withinLimit(traces?.provider.shutdown())),
  };
}

function startTraces(config: TelemetryConfig, resource: Resource, onExport: OnExport) {
  const exporter = new OTLPTraceExporter({
    url: config.traces!,
    headers: config.headers.traces,
    timeoutMillis: config.timeoutMs.traces,
  });
  const ratio = new TraceIdRatioBasedSampler(config.sampleRatio);
  const provider = new TracerProvider({
    resource,
    // A client can reduce the share of recorded traces, but cannot exceed the ratio.
    sampler: new ParentBasedSampler({
      root: ratio,
      remoteParentSampled: ratio,
      remoteParentNotSampled: new AlwaysOffSampler(),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reported<SpanExporter>(exporter, onExport),
        maxQueueSize: MAX_QUEUED_SPANS,
        maxExportBatchSize: MAX_SPANS_PER_EXPORT,
        exportTimeoutMillis: config.timeoutMs.traces,
      }),
    ],
  });
  return { provider, tracing: (version: string) => createTracing(provider, version) };
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

function createTracing(provider: Pick<TracerProvider, "getTracer">, version: string): Tracing {
  const tracer = provider.getTracer("reelpost", version);
  const propagator = new W3CTraceContextPropagator();
  const current = new AsyncLocalStorage<Context>();
  const getter = {
    get: (carrier: Record<string, string | string[] | undefined>, key: string) => carrier[key],
    keys: (carrier: object) => Object.keys(carrier),
  };
  const setter = { set: (carrier: Record<string, string>, key: string, value: string) => void (carrier[key] = value) };

  function contextOf(parent: SpanOptions["parent"]): Context {
    const around = current.getStore() ?? ROOT_CONTEXT;
    if (parent?.traceparent === undefined) return around;
    const context = propagator.extract(ROOT_CONTEXT, { ...parent }, getter);
    const spanContext = trace.getSpanContext(context);
    return spanContext !== undefined && isSpanContextValid(spanContext) ? context : around;
  }

  return {
    async run(name, { kind = "internal", attributes = {}, parent }, work) {
      const context = contextOf(parent);
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, context);
      try {
        return await current.run(trace.setSpan(context, span), () =>
          work({
            set: (more) => void span.setAttributes(more),
            fail: (message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
          }),
        );
      } catch (err) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(err) });
        throw err;
      } finally {
        span.end();
      }
    },
    headers() {
      const context = current.getStore();
      if (context === undefined) return {};
      const carrier: { traceparent?: string; tracestate?: string } = {};
      propagator.inject(context, carrier as Record<string, string>, setter);
      return carrier;
    },
  };
}

type OnExport = (result: ExportResult) => void;

/** Reports the result of each export; the libraries only log failures to a process-wide logger. */
function reported<Exporter extends { export(items: never, done: OnExport): void }>(
  exporter: Exporter,
  onExport: OnExport,
): Exporter {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      onExport(result);
      done(result);
    });
  return exporter;
}

function failureLog(what: "spans" | "metrics", { clock, log }: Pick<ExporterDeps, "clock" | "log">): OnExport {
  let loggedAt = -Infinity;
  return ({ code, error }) => {
    if (code === ExportResultCode.SUCCESS || clock.now() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = clock.now();
    const reason = error === undefined ? "unknown error" : reasonOf(error);
    log.warn(`telemetry: failed to send ${what} to the collector: ${reason}`);
  };
}

/** Node reports a failed connection to several addresses as an AggregateError without a message. */
const reasonOf = (error: Error): string =>
  error instanceof AggregateError && error.message === "" ? error.errors.map(messageOf).join(", ") : messageOf(error);

async function withinLimit(work: Promise<void> | undefined): Promise<void> {
  const { promise: limit, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  // The exporter has already logged failures.
  await Promise.race([work?.catch(() => {}), limit]);
  clearTimeout(timer);
}
