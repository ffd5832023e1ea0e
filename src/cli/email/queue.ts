import type { Paint } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { nameValueLines, formatUtcTime, table } from "../print.ts";
import { hopReplyOf, formatLogTime } from "./log.ts";

/** State of one recipient of an outbound message. */
interface QueuedRecipient {
  to: string;
  state: string;
  attempts: number;
  next_attempt: string | null;
  paused_until: string | null;
  paused_because: string | null;
  host: string | null;
  code: number | null;
  enhanced_code: string | null;
  response: string | null;
  finished: string | null;
}

interface QueuedMessage {
  id: string;
  cause: string;
  from: string;
  message_id: string;
  worker: string | null;
  size: number;
  can_resend: boolean;
  created: string;
}

export type QueuedItem = QueuedMessage & QueuedRecipient;
export type QueuedMessageDetails = QueuedMessage & { finished: string | null; recipients: QueuedRecipient[] };

export const QUEUE_STATES = ["queued", "delivering", "deferred", "delivered", "failed", "expired"] as const;

export const queueTable = (items: readonly QueuedItem[], paint: Paint): string[] =>
  table(
    ["id", "created (UTC)", "from", "to", "state", "attempts", "next attempt (UTC)", "status"],
    items.map((one) => [
      one.id,
      formatLogTime(one.created),
      senderOf(one),
      one.to,
      one.state,
      one.attempts,
      nextOf(one),
      replyOf(one),
    ]),
    paint,
  );

export const queuedMessageLines = (message: QueuedMessageDetails, paint: Paint): string[] => [
  ...nameValueLines(
    [
      ["id", message.id],
      ["created", formatUtcTime(message.created)],
      ["finished", message.finished === null ? undefined : formatUtcTime(message.finished)],
      ["cause", message.worker === null ? message.cause : `${message.cause}, by ${oneLine(message.worker)}`],
      ["from", oneLine(senderOf(message))],
      ["message-id", oneLine(message.message_id)],
      ["size", `${message.size} bytes`],
      ["can be resent", message.can_resend ? "yes" : "no, the content was deleted"],
    ],
    paint,
  ),
  "",
  ...table(
    ["to", "state", "attempts", "next attempt (UTC)", "next hop", "status"],
    message.recipients.map((one) => [one.to, one.state, one.attempts, nextOf(one), one.host, replyOf(one)]),
    paint,
  ),
];

const senderOf = ({ from }: { from: string }) => (from === "" ? "<>" : from);
const nextOf = ({ state, next_attempt: next }: QueuedRecipient) =>
  next === null || state === "delivering" ? "" : formatLogTime(next);
const pauseOf = ({ paused_until: pausedUntil, paused_because: pauseReason }: QueuedRecipient) =>
  !pausedUntil ? "" : `paused until ${formatLogTime(pausedUntil)}: ${oneLine(pauseReason ?? "")}`;
const replyOf = (one: QueuedRecipient) => [hopReplyOf(one), pauseOf(one)].filter((text) => text !== "").join("; ");
