import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Scope {
  after(stop: () => Promise<void>): void;
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: KeyValue[];
  status: { code?: number; message?: string };
}

interface WirePoint {
  attributes: KeyValue[];
  asDouble?: number;
  asInt?: number | string;
  count?: number | string;
  sum?: number;
  bucketCounts?: (number | string)[];
  explicitBounds?: number[];
}

interface WireMetric {
  name: string;
  unit?: string;
  sum?: { dataPoints: WirePoint[]; isMonotonic: boolean; aggregationTemporality: number };
  gauge?: { dataPoints: WirePoint[] };
  histogram?: { dataPoints: WirePoint[] };
}

interface ReceivedSpan extends Omit<WireSpan, "attributes"> {
  attributes: Record<string, unknown>;
}

/** A collector that accepts OTLP over HTTP with JSON (OTLP specification 1.x). */
export interface OtlpReceiver {
  url: string;
  /** The paths and headers of all requests. */
  requests: { path: string; headers: Record<string, unknown> }[];
  spans: ReceivedSpan[];
  /** The newest export of each metric, by name. */
  metrics: Map<string, WireMetric>;
  /** Attributes of the resource in the newest export. */
  resource: Record<string, unknown>;
}

/** Starts a collector. `hang`: it accepts requests and never responds. */
export async function startOtlpReceiver(t: Scope, { hang = false } = {}): Promise<OtlpReceiver> {
  const server = createServer((request, response) => {
    receiver.requests.push({ path: request.url!, headers: request.headers });
    if (hang) return void request.resume();
    json(request).then(
      (body) => {
        read(request.url!, body as Record<string, never[]>);
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      },
      // The client was stopped before it had sent the whole request.
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    spans: [],
    metrics: new Map(),
    resource: {},
  };

  function read(path: string, body: Record<string, { resource: { attributes: KeyValue[] } }[]>) {
    for (const group of body["resourceSpans"] ?? body["resourceMetrics"] ?? []) {
      receiver.resource = valuesOf(group.resource.attributes);
      const { scopeSpans = [], scopeMetrics = [] } = group as unknown as {
        scopeSpans?: { spans: WireSpan[] }[];
        scopeMetrics?: { metrics: WireMetric[] }[];
      };
      if (path.endsWith("/v1/traces"))
        for (const span of scopeSpans.flatMap(({ spans }) => spans))
          receiver.spans.push({ ...span, attributes: valuesOf(span.attributes) });
      for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics)) receiver.metrics.set(metric.name, metric);
    }
  }
  return receiver;
}

export const valuesOf = (attributes: KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );
