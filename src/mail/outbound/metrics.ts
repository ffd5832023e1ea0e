import type { Metrics } from "../../kernel/metrics.ts";
import type { TraceEvent } from "../messages/index.ts";

/** Prometheus metrics of outbound mail. */
export function meterOutbound(metrics: Metrics) {
  const steps = metrics.counter(
    "reelpost_mail_outbound_total",
    "Total number of outbound delivery steps per recipient: queued, deferred, delivered, bounced",
    ["step", "way"],
  );
  const waitingGauge = metrics.gauge(
    "reelpost_mail_outbound_waiting",
    "Number of recipients waiting in the queue, across all processes",
  );
  const pausedGauge = metrics.gauge(
    "reelpost_mail_outbound_paused",
    "Number of destinations and hosts that this process has paused after failures",
  );
  return {
    count({ step, detail }: TraceEvent): void {
      steps.inc({ step, way: detail["inSession"] === true ? "relay" : "queue" });
    },
    /** The functions are called when metrics are collected. */
    watch(now: { waiting(): Promise<number>; paused(): number }): void {
      // prom-client calls `collect` when metrics are collected.
      Object.assign(waitingGauge, {
        collect: async () => waitingGauge.set(await now.waiting().catch(() => Number.NaN)),
      });
      Object.assign(pausedGauge, { collect: () => pausedGauge.set(now.paused()) });
    },
  };
}
