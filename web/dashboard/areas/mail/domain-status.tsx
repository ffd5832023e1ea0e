import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { RoutingZone } from "./queries.ts";

const STATUSES: Record<RoutingZone["status"], { tone: Tone; text: string }> = {
  ready: { tone: "good", text: "Receives mail" },
  unconfigured: { tone: "neutral", text: "Not set up" },
  misconfigured: { tone: "bad", text: "DNS records incorrect" },
  "misconfigured/locked": { tone: "bad", text: "DNS records incorrect" },
  unlocked: { tone: "warning", text: "DNS records not locked" },
};

export function DomainStatus({ zone: { enabled, status } }: { zone: Pick<RoutingZone, "enabled" | "status"> }) {
  if (!enabled) return <StatusBadge>{status === "unconfigured" ? "Not set up" : "Disabled"}</StatusBadge>;
  const { tone, text } = STATUSES[status];
  return <StatusBadge tone={tone}>{text}</StatusBadge>;
}
