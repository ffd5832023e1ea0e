import type { Metrics } from "../kernel/metrics.ts";

/** Upper bounds, in seconds. */
const BUCKET_BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5, 30];
/** A 1xx response never ends a request; an aborted response counts as 5xx. */
const CLASSES = ["2xx", "3xx", "4xx", "5xx"];

const REQUESTS = "reelpost_api_requests_total";
const SECONDS_METRIC = "reelpost_api_request_seconds";

interface Tally {
  /** Responses by status class. */
  answers: Float64Array;
  /** Durations by bucket; the last bucket is for longer ones. */
  times: Float64Array;
  seconds: number;
}

/**
 * Counts API responses by operation and class, with durations. Each request costs only a few additions: labels are
 * built on scrape.
 */
export function meterApi({
  registry,
}: Pick<Metrics, "registry">): (operation: string, status: number, ms: number) => void {
  const tallies = new Map<string, Tally>();

  register(REQUESTS, "Total number of API responses by operation and status class", "counter", () =>
    [...tallies].flatMap(([operation, { answers }]) =>
      CLASSES.map((status, i) => ({ value: answers[i]!, labels: { operation, status } })).filter(
        ({ value }) => value > 0,
      ),
    ),
  );

  register(SECONDS_METRIC, "Duration of API requests in seconds", "histogram", () =>
    [...tallies].flatMap(([operation, { times, seconds }]) => {
      let count = 0;
      const buckets = [...BUCKET_BOUNDS_SECONDS, "+Inf"].map((le, i) => ({
        metricName: `${SECONDS_METRIC}_bucket`,
        labels: { le, operation },
        value: (count += times[i]!),
      }));
      return [
        ...buckets,
        { metricName: `${SECONDS_METRIC}_sum`, labels: { operation }, value: seconds },
        { metricName: `${SECONDS_METRIC}_count`, labels: { operation }, value: count },
      ];
    }),
  );

  return (operation, status, ms) => {
    let tally = tallies.get(operation);
    if (tally === undefined)
      tallies.set(
        operation,
        (tally = {
          answers: new Float64Array(CLASSES.length),
          times: new Float64Array(BUCKET_BOUNDS_SECONDS.length + 1),
          seconds: 0,
        }),
      );
    const seconds = ms / 1000;
    tally.answers[status >= 500 || status < 200 ? 3 : Math.floor(status / 100) - 2]!++;
    tally.times[bucketOf(seconds)]!++;
    tally.seconds += seconds;
  };

  /** Returns a metric whose values prom-client reads on scrape. */
  function register(name: string, help: string, type: "counter" | "histogram", values: () => object[]) {
    const metric = {
      name,
      help,
      aggregator: "sum",
      get: async () => ({ name, help, type, aggregator: "sum", values: values() }),
      reset: () => tallies.clear(),
    };
    registry.registerMetric(metric as never);
  }
}

function bucketOf(seconds: number): number {
  let bucket = 0;
  while (bucket < BUCKET_BOUNDS_SECONDS.length && seconds > BUCKET_BOUNDS_SECONDS[bucket]!) bucket++;
  return bucket;
}
