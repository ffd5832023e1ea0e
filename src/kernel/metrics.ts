import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/**
 * Prometheus metrics. Each server has its own registry: prom-client's global one would mix the servers of a process.
 */
export interface Metrics {
  readonly registry: Registry;
  /** Returns a counter. Names have the form reelpost_<what>_total. */
  counter<Label extends string>(name: string, help: string, labels?: readonly Label[]): Counter<Label>;
  gauge<Label extends string>(name: string, help: string, labels?: readonly Label[]): Gauge<Label>;
  /** Returns a histogram. `buckets` are in the unit that the name states, usually seconds. */
  histogram<Label extends string>(
    name: string,
    help: string,
    options?: { labels?: readonly Label[]; buckets?: number[] },
  ): Histogram<Label>;
  /** Resolves with the response to GET /metrics. */
  render(): Promise<{ contentType: string; body: string }>;
  /** Removes all metrics. */
  close(): void;
}

/** Suitable for fast to slow handlers. */
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * `processMetrics`: memory, CPU, event loop and garbage collection of this process; disable it if several servers share
 * a process.
 */
export function createMetrics({ processMetrics = true }: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name, help, { labels = [], buckets = DURATION_BUCKETS_SECONDS } = {}) =>
      new Histogram({ name, help, labelNames: labels, buckets, registers }),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    close: () => registry.clear(),
  };
}
