import { createMetrics, type Metrics } from "../kernel/metrics.ts";
import type { WorkerRuntime } from "../workers/index.ts";

/** Prometheus metrics of workers. */
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
    // Background work has no duration.
    if (event.kind !== "other") seconds.observe({ worker, event: event.kind }, wallMs / 1000);
    if (event.kind === "email") octets.inc({ worker }, event.rawSize);
  });
  return metrics;
}
