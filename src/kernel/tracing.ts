import type { IncomingHttpHeaders } from "node:http";

/** Fields of the W3C Trace Context recommendation, as they appear in `IncomingMessage.headers` or in a stored job. */
export interface TraceHeaders {
  traceparent?: string | string[] | undefined;
  tracestate?: string | string[] | undefined;
}

export type SpanAttributes = Record<string, string | number | boolean>;

export interface SpanOptions {
  /** Default "internal". */
  kind?: "internal" | "server" | "client" | "producer" | "consumer";
  attributes?: SpanAttributes;
  /**
   * Headers of the caller. Ignored if `traceparent` is absent or malformed; the span then continues the current one.
   */
  parent?: TraceHeaders | IncomingHttpHeaders;
}

export interface Span {
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed. */
  fail(reason: string): void;
}

/** Records spans. Exists only if telemetry is enabled: otherwise, nothing is wrapped or measured. */
export interface Tracing {
  /**
   * Runs `work` in a new span, which is the current one until the promise settles. A rejection marks the span as failed
   * and is passed on.
   */
  run<Result>(name: string, options: SpanOptions, work: (span: Span) => Promise<Result>): Promise<Result>;
  /** Returns the current span as headers for an outgoing request; empty outside of spans. */
  headers(): { traceparent?: string; tracestate?: string };
}
