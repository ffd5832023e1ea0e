import { createMetrics, type Metrics } from "../kernel/metrics.ts";
import type { WorkerRuntime } from "./runtime/port.ts";

/** Counts and times the invocations of workers for Prometheus. */
export function meterWorkers(
  runtime: Pick<WorkerRuntime, "onInvocation">,
  metrics: Metrics = createMetrics(),
): Metrics {
  const labels = ["worker", "event"] as const;
  const invocations = metrics.counter(
    "reelpost_worker_invocations_total",
    "Total number of worker invocations by event and outcome",
    [...labels, "outcome"],
  );
  const seconds = metrics.histogram("reelpost_worker_invocation_seconds", "Duration of worker invocations in seconds", {
    labels,
  });
  const receivedBytes = metrics.counter(
    "reelpost_mail_received_bytes_total",
    "Total size of the messages delivered to workers in bytes",
    ["worker"],
  );

  runtime.onInvocation(({ script: worker, event, outcome, wallMs }) => {
    invocations.inc({ worker, event: event.kind, outcome });
    // Background work has no duration.
    if (event.kind !== "other") seconds.observe({ worker, event: event.kind }, wallMs / 1000);
    if (event.kind === "email") receivedBytes.inc({ worker }, event.rawSize);
  });
  return metrics;
}
