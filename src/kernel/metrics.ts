import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/** The numbers a server tells Prometheus. Each server has its own: prom-client's global registry would mix two servers of one process. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts up. `name` in the form reelpost_<what>_total. */
  counter<Label extends string>(name: string, help: string, labels?: readonly Label[]): Counter<Label>;
  gauge<Label extends string>(name: string, help: string, labels?: readonly Label[]): Gauge<Label>;
  /** `buckets` in the unit of the name, seconds as a rule. */
  histogram<Label extends string>(
    name: string,
    help: string,
    options?: { labels?: readonly Label[]; buckets?: number[] },
  ): Histogram<Label>;
  /** The answer to GET /metrics. */
  render(): Promise<{ contentType: string; body: string }>;
  /** Forgets every metric. */
  close(): void;
}

/** From a fast handler to a slow one. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** `processMetrics`: memory, CPU, event loop and garbage collection of this process; switch it off where many servers share one. */
export function createMetrics({ processMetrics = true }: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name, help, { labels = [], buckets = SECONDS } = {}) =>
      new Histogram({ name, help, labelNames: labels, buckets, registers }),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    close: () => registry.clear(),
  };
}
