import { createMetrics, type Metrics } from "../kernel/metrics.ts";
import type { TraceEvent } from "../mail/index.ts";
import type { WorkerRuntime } from "../workers/index.ts";

/** Counts what the workers do, for Prometheus. */
export function meterWorkers(
  runtime: Pick<WorkerRuntime, "onInvocation">,
  metrics: Metrics = createMetrics(),
): Metrics {
  const labels = ["worker", "event"] as const;
  const invocations = metrics.counter(
    "reelpost_worker_invocations_total",
    "Invocations of workers, by how they ended",
    [...labels, "outcome"],
  );
  const seconds = metrics.histogram(
    "reelpost_worker_invocation_seconds",
    "From the hand-over of an event to the handler's end",
    { labels },
  );
  const octets = metrics.counter(
    "reelpost_mail_received_bytes_total",
    "Octets of the messages that workers were given",
    ["worker"],
  );

  runtime.onInvocation(({ script: worker, event, outcome, wallMs }) => {
    invocations.inc({ worker, event: event.kind, outcome });
    // What nobody waited for has no time of its own.
    if (event.kind !== "other") seconds.observe({ worker, event: event.kind }, wallMs / 1000);
    if (event.kind === "email") octets.inc({ worker }, event.rawSize);
  });
  return metrics;
}

/** Counts mail on its way out, for Prometheus. */
export function meterOutbound(metrics: Metrics) {
  const steps = metrics.counter(
    "reelpost_mail_outbound_total",
    "Recipients of mail on its way out, by what happened: queued, deferred, delivered, bounced",
    ["step", "way"],
  );
  const waiting = metrics.gauge(
    "reelpost_mail_outbound_waiting",
    "Recipients that wait in the queue, all processes together",
  );
  const paused = metrics.gauge(
    "reelpost_mail_outbound_paused",
    "Destinations and hosts that this process leaves alone for a while, after failures",
  );
  return {
    count({ step, detail }: TraceEvent): void {
      steps.inc({ step, way: detail["inSession"] === true ? "relay" : "queue" });
    },
    /** Asked when the numbers are read. */
    watch(now: { waiting(): Promise<number>; paused(): number }): void {
      // prom-client asks whoever has such a property.
      Object.assign(waiting, { collect: async () => waiting.set(await now.waiting().catch(() => Number.NaN)) });
      Object.assign(paused, { collect: () => paused.set(now.paused()) });
    },
  };
}
