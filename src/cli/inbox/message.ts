import type { Paint } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { nameValueLines, formatUtcTime, table } from "../print.ts";

/** A message as returned by the API. */
export interface ApiInboxMessage {
  id: string;
  kind: string;
  status: string;
  created_on: string;
  from: string;
  to: string[];
  author: string;
  subject: string;
  message_id: string | null;
  size: number;
  attachment_count: number;
  worker: string | null;
  deliveries: {
    to: string;
    worker: string | null;
    outcome: string | null;
    rejected: string | null;
    exception: string | null;
    reply: string | null;
  }[];
}

export interface InboxDetails extends ApiInboxMessage {
  content: {
    headers: { name: string; value: string }[];
    text: string | null;
    html: string | null;
    attachments: { index: number; filename: string | null; content_type: string; size: number; inline: boolean }[];
  } | null;
  caused: ApiInboxMessage[];
}

const MAX_SUBJECT_LENGTH = 60;

export const messageTable = (messages: readonly ApiInboxMessage[], paint: Paint): string[] =>
  table(
    ["time (UTC)", "kind", "from", "to", "status", "id", "subject"],
    messages.map((message) => [
      formatUtcTime(message.created_on),
      message.kind,
      senderOf(message),
      oneLine(message.to.join(", ")),
      message.status,
      message.id,
      oneLine(message.subject).slice(0, MAX_SUBJECT_LENGTH),
    ]),
    paint,
  );

/** Returns the envelope, the results and the text of a message, and the messages that it caused. */
export function messageLines(details: InboxDetails, paint: Paint): string[] {
  const { deliveries, content, caused } = details;
  return [
    ...nameValueLines(
      [
        ["id", details.id],
        ["time", formatUtcTime(details.created_on)],
        ["kind", details.kind],
        ["status", details.status],
        ["from", senderOf(details)],
        ["to", oneLine(details.to.join(", "))],
        ["subject", oneLine(details.subject)],
        ["message-id", details.message_id === null ? undefined : oneLine(details.message_id)],
        ["worker", details.worker ?? undefined],
        ["size", `${details.size} bytes`],
      ],
      paint,
    ),
    ...section(
      deliveries.length === 0
        ? []
        : table(
            ["recipient", "worker", "result"],
            deliveries.map((delivery) => [oneLine(delivery.to), delivery.worker, resultOf(delivery)]),
            paint,
          ),
    ),
    ...section(
      content === null || content.attachments.length === 0
        ? []
        : table(
            ["attachment", "type", "bytes"],
            content.attachments.map(({ index, filename, content_type: type, size }) => [
              `${index} ${oneLine(filename ?? "")}`.trim(),
              oneLine(type),
              String(size),
            ]),
            paint,
          ),
    ),
    ...section(caused.length === 0 ? [] : messageTable(caused, paint)),
    ...section(
      content?.text == null
        ? []
        : content.text
            .trimEnd()
            .split(/\r?\n/)
            .map((line) => oneLine(line)),
    ),
  ];
}

const section = (lines: string[]) => (lines.length === 0 ? [] : ["", ...lines]);

const senderOf = ({ from }: ApiInboxMessage) => (from === "" ? "<>" : oneLine(from));

function resultOf({ outcome, rejected, exception, reply }: ApiInboxMessage["deliveries"][number]): string {
  if (rejected !== null) return oneLine(`rejected: ${rejected}`);
  if (outcome !== null && outcome !== "ok") return oneLine(`${outcome}: ${exception ?? reply ?? ""}`);
  return oneLine(reply ?? outcome ?? "processing");
}
