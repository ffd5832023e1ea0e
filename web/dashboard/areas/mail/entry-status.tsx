import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { LogEntry } from "./queries.ts";

type Status = LogEntry["status"];

const STATUSES: Record<Status, { tone: Tone; text: string }> = {
  received: { tone: "info", text: "Received" },
  sent: { tone: "info", text: "Sent" },
  handled: { tone: "good", text: "Processed by worker" },
  dropped: { tone: "neutral", text: "Dropped" },
  queued: { tone: "info", text: "Queued" },
  deferred: { tone: "warning", text: "Deferred" },
  delivered: { tone: "good", text: "Delivered" },
  deliveryFailed: { tone: "bad", text: "Delivery failed" },
  rejected: { tone: "bad", text: "Rejected" },
  error: { tone: "bad", text: "Error" },
  unknown: { tone: "neutral", text: "Unknown" },
};

export const STATUS_OPTIONS = Object.entries(STATUSES).map(([value, { text }]) => ({ value, label: text }));

export function EntryStatus({ status }: { status: Status }) {
  const { tone, text } = STATUSES[status];
  return <StatusBadge tone={tone}>{text}</StatusBadge>;
}

/** The action that the rule or the default took. */
export function actionText({ kind, action, worker, event_type: type }: LogEntry): string {
  if (action === "worker") return worker === null ? "Worker" : `Worker ${worker}`;
  if (action !== null) return { forward: "Forward", drop: "Drop", reject: "Reject" }[action];
  if (type === "reply") return "Reply";
  return kind === "sending" ? "Send" : "";
}
