import type { Metrics } from "../../kernel/metrics.ts";
import type { TraceEvent } from "../messages/index.ts";

/** Prometheus metrics of outbound mail. */
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
    /** The functions are called when metrics are collected. */
    watch(now: { waiting(): Promise<number>; paused(): number }): void {
      // prom-client calls `collect` when metrics are collected.
      Object.assign(waiting, { collect: async () => waiting.set(await now.waiting().catch(() => Number.NaN)) });
      Object.assign(paused, { collect: () => paused.set(now.paused()) });
    },
  };
}
