import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { Zone } from "./queries.ts";

const STATUSES: Record<Zone["status"], { tone: Tone; text: string }> = {
  active: { tone: "good", text: "Active" },
  pending: { tone: "warning", text: "Pending" },
  initializing: { tone: "info", text: "Initializing" },
  moved: { tone: "bad", text: "Moved" },
};

export function ZoneStatus({ zone: { status, paused } }: { zone: Pick<Zone, "status" | "paused"> }) {
  if (paused) return <StatusBadge>Paused</StatusBadge>;
  const { tone, text } = STATUSES[status];
  return <StatusBadge tone={tone}>{text}</StatusBadge>;
}
