import type { Metrics } from "../../kernel/metrics.ts";
import type { SmtpReply } from "../messages/index.ts";
import type { SmtpListener } from "./server.ts";

type Name = "smtp" | "submission";

/** Counts connections and rejections of the SMTP listeners for Prometheus. */
export function meterSmtp(metrics: Metrics) {
  const refusals = metrics.counter(
    "reelpost_smtp_refusals_total",
    "Total number of rejections before a message was accepted, by SMTP command",
    ["listener", "stage", "code"],
  );
  const connections = metrics.gauge("reelpost_smtp_connections", "Number of connected clients", ["listener"]);
  const listeners: [Name, Pick<SmtpListener, "connections">][] = [];
  Object.assign(connections, {
    collect: () => {
      for (const [listener, now] of listeners) connections.set({ listener }, now.connections);
    },
  });
  return {
    refused: (listener: Name, stage: string, { code }: SmtpReply) =>
      refusals.inc({ listener, stage, code: String(code) }),
    watch: (name: Name, listener: Pick<SmtpListener, "connections">) => void listeners.push([name, listener]),
  };
}
