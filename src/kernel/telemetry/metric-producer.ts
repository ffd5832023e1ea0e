import { ValueType, type Attributes, type HrTime } from "@opentelemetry/api";
import { millisToHrTime } from "@opentelemetry/core";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Registry } from "prom-client";

/** One sample of a prom-client metric. Samples of a histogram name their series: `_bucket`, `_sum`, `_count`. */
interface Sample {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

interface PromMetric {
  name: string;
  help: string;
  type: string;
  values: Sample[];
}

/**
 * Converts the Prometheus metrics of a server to OTLP, so that both report the same figures. Names and labels are
 * unchanged. Counters and histograms are cumulative since `startedAt` (epoch milliseconds).
 */
export function createMetricProducer(
  registry: Pick<Registry, "getMetricsAsJSON">,
  { startedAt, now, version }: { startedAt: number; now: () => number; version: string },
): MetricProducer {
  const startTime = millisToHrTime(startedAt);
  return {
    async collect() {
      const time = { startTime, endTime: millisToHrTime(now()) };
      const metrics = ((await registry.getMetricsAsJSON()) as unknown as PromMetric[]).flatMap((metric) =>
        metric.values.length === 0 ? [] : [convertMetric(metric, time)],
      );
      return {
        resourceMetrics: {
          resource: emptyResource(),
          scopeMetrics: [{ scope: { name: "reelpost", version }, metrics }],
        },
        errors: [],
      };
    },
  };
}

function convertMetric(
  { name, help, type, values }: PromMetric,
  time: { startTime: HrTime; endTime: HrTime },
): MetricData {
  const common = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === "histogram")
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramPoints(values, name, time) };
  const dataPoints = values.map(({ value, labels }) => ({ ...time, attributes: { ...labels }, value }));
  return type === "counter"
    ? { ...common, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** UCUM unit, from the suffix that Prometheus names require. */
function unitOf(name: string): string {
  const suffix = /_(seconds|bytes)(?:_total)?$/.exec(name)?.[1];
  return suffix === "seconds" ? "s" : suffix === "bytes" ? "By" : "";
}

/** Prometheus buckets count all values up to their bound; OTLP buckets count those above the previous bound only. */
function histogramPoints(
  samples: Sample[],
  name: string,
  time: { startTime: HrTime; endTime: HrTime },
): DataPoint<Histogram>[] {
  const series = new Map<
    string,
    { attributes: Attributes; bounds: number[]; counts: number[]; sum: number; count: number }
  >();
  for (const {
    labels: { le, ...attributes },
    value,
    metricName,
  } of samples) {
    const key = JSON.stringify(attributes);
    const found = series.get(key) ?? { attributes, bounds: [], counts: [], sum: 0, count: 0 };
    series.set(key, found);
    if (metricName === `${name}_sum`) found.sum = value;
    else if (metricName === `${name}_count`) found.count = value;
    else if (le !== undefined) {
      found.counts.push(value);
      if (le !== "+Inf") found.bounds.push(Number(le));
    }
  }
  return [...series.values()].map(({ attributes, bounds, counts, sum, count }) => ({
    ...time,
    attributes,
    value: {
      buckets: { boundaries: bounds, counts: counts.map((total, i) => total - (i === 0 ? 0 : counts[i - 1]!)) },
      sum,
      count,
    },
  }));
}
