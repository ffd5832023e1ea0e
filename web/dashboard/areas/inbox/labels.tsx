import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { Message } from "./queries.ts";

export const KINDS = [
  { value: "received", label: "Received" },
  { value: "forwarded", label: "Forwarded" },
  { value: "replied", label: "Reply" },
  { value: "sent", label: "Sent" },
] as const satisfies { value: Message["kind"]; label: string }[];

const STATUSES: Record<Message["status"], readonly [label: string, tone: Tone]> = {
  processing: ["Processing", "info"],
  accepted: ["Accepted", "good"],
  rejected: ["Rejected", "warning"],
  failed: ["Failed", "bad"],
  interrupted: ["Interrupted", "warning"],
  captured: ["Captured", "neutral"],
};

export const kindLabel = (kind: Message["kind"]): string => KINDS.find(({ value }) => value === kind)!.label;
export const subjectOf = ({ subject }: Pick<Message, "subject">): string =>
  subject.trim() === "" ? "(no subject)" : subject;
/** Bounces have the null sender (RFC 5321 4.5.5). */
export const senderOf = ({ from }: Pick<Message, "from">): string => (from === "" ? "(null sender)" : from);

/** The outcome of the worker. Messages that a worker sends are captured, not delivered. */
export function MessageStatus({ status }: Pick<Message, "status">) {
  const [label, tone] = STATUSES[status];
  return <StatusBadge tone={tone}>{label}</StatusBadge>;
}

export function MessageKind({ kind }: Pick<Message, "kind">) {
  return <StatusBadge tone={kind === "received" ? "info" : "neutral"}>{kindLabel(kind)}</StatusBadge>;
}
