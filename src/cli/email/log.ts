import type { Paint } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { nameValueLines, formatUtcTime, table } from "../print.ts";

/** A message and one of its recipients, as in the API's log. */
export interface LogEntry {
  id: string;
  kind: "routing" | "sending";
  /** Shared by the recipients of one message; the id begins with it. */
  session_id: string;
  created: string;
  modified: string;
  from: string;
  to: string;
  subject: string | null;
  message_id: string | null;
  status: string;
  action: string | null;
  rule_id: string | null;
  worker: string | null;
  spf: string | null;
  dkim: string | null;
  dmarc: string | null;
  arc: string | null;
  error_detail: string | null;
  is_spam: boolean;
  size: number | null;
  ip: string | null;
}

export interface LogDetails extends LogEntry {
  deliveries: {
    message_id: string;
    to: string;
    status: string;
    modified: string;
    queue_id: string | null;
    host: string | null;
    code: number | null;
    enhanced_code: string | null;
    response: string | null;
  }[];
  events: { datetime: string; step: string; detail: Record<string, unknown> }[];
}

export const LOG_TITLES = ["time (UTC)", "from", "to", "result", "spf/dkim/dmarc", "message", "subject"] as const;

/** Untrusted text is truncated here so that each entry fits on one line. */
const MAX_REASON_LENGTH = 80;
const MAX_SUBJECT_LENGTH = 60;

export const logRow = (entry: LogEntry): string[] => [
  formatLogTime(entry.created),
  entry.from === "" ? "<>" : entry.from,
  entry.to,
  resultText(entry),
  verdicts(entry),
  entry.session_id,
  shortenText(entry.subject ?? "", MAX_SUBJECT_LENGTH),
];

export const logTable = (entries: readonly LogEntry[], paint: Paint): string[] =>
  table(LOG_TITLES, entries.map(logRow), paint);

/** Describes the result. */
function resultText({ kind, status, action, worker, error_detail: detail, is_spam: isSpam }: LogEntry): string {
  const byWorker = worker === null || kind === "sending" ? "" : ` by ${worker}`;
  const reasonText = detail === null ? "" : `: ${shortenText(detail, MAX_REASON_LENGTH)}`;
  const [words, connectingWord] = WORDS[status] ?? [status, "why"];
  const result =
    kind === "routing" && status === "delivered"
      ? `${action === "drop" ? "delivered" : "forwarded"}${byWorker}`
      : `${words}${connectingWord === "why" ? reasonText : byWorker}`;
  return isSpam ? `${result} (spam)` : result;
}

const WORDS: Record<string, [words: string, more: "why" | "by"]> = {
  received: ["received", "by"],
  sent: ["sent", "by"],
  handled: ["handled", "by"],
  dropped: ["dropped", "by"],
  delivered: ["delivered", "by"],
  queued: ["queued", "why"],
  deferred: ["deferred", "why"],
  deliveryFailed: ["delivery failed", "why"],
  rejected: ["rejected", "why"],
  error: ["failed", "why"],
  unknown: ["unknown", "why"],
};

/** `pass/none/pass`; empty if nothing was checked. */
const verdicts = ({ spf, dkim, dmarc }: LogEntry): string =>
  [spf, dkim, dmarc].every((verdict) => verdict === null)
    ? ""
    : [spf, dkim, dmarc].map((verdict) => verdict ?? "-").join("/");

/** Returns the details of a message for one recipient. */
export function detailLines(details: LogDetails, paint: Paint): string[] {
  const { deliveries, events } = details;
  const orUndefined = (value: string | null) => (value === null || value === "" ? undefined : oneLine(value));
  const checks = (["spf", "dkim", "dmarc", "arc"] as const)
    .filter((method) => details[method] !== null)
    .map((method) => `${method}=${oneLine(details[method]!)}`);
  return [
    ...nameValueLines(
      [
        ["id", details.id],
        ["time", formatUtcTime(details.created)],
        ["from", details.from === "" ? "<>" : oneLine(details.from)],
        ["to", oneLine(details.to)],
        ["subject", orUndefined(details.subject)],
        ["message-id", orUndefined(details.message_id)],
        ["result", resultText({ ...details, error_detail: null })],
        ["reason", orUndefined(details.error_detail)],
        ["rule", orUndefined(details.rule_id)],
        ["worker", orUndefined(details.worker)],
        ["checks", checks.length === 0 ? undefined : checks.join(" ")],
        ["size", details.size === null ? undefined : `${details.size} bytes`],
        ["client", orUndefined(details.ip)],
      ],
      paint,
    ),
    ...(deliveries.length === 0
      ? []
      : [
          "",
          ...table(
            ["copy to", "state", "since (UTC)", "server", "reply", "queue id"],
            deliveries.map((delivery) => [
              delivery.to,
              delivery.status,
              formatLogTime(delivery.modified),
              delivery.host,
              hopReplyOf(delivery),
              delivery.queue_id,
            ]),
            paint,
          ),
        ]),
    ...(events.length === 0
      ? []
      : [
          "",
          ...table(
            ["time (UTC)", "step", ""],
            events.map(({ datetime, step, detail }) => [formatLogTime(datetime), step, detailText(detail)]),
            paint,
          ),
        ]),
  ];
}

/** Reply of a next hop: `250 2.0.0 Ok`. */
export const hopReplyOf = ({
  code,
  enhanced_code: enhanced,
  response,
}: {
  code: number | null;
  enhanced_code: string | null;
  response: string | null;
}): string =>
  shortenText([code, enhanced, response].filter((part) => part !== null && part !== "").join(" "), MAX_REASON_LENGTH);

const detailText = (detail: Record<string, unknown>): string =>
  shortenText(
    Object.entries(detail)
      .map(([name, value]) => `${name}=${valueText(name, value)}`)
      .join(" "),
    300,
  );

function valueText(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => valueText(name, item)).join(",");
  // Rules are shown by name, if they have one; workers without their account.
  if (typeof value === "object" && value !== null)
    return "name" in value && value.name !== ""
      ? String(value.name)
      : "id" in value
        ? String(value.id)
        : JSON.stringify(value);
  return name === "script" ? String(value).replace(/^[^/]*\//, "") : String(value);
}

export const formatLogTime = (text: string): string => formatUtcTime(text).replace(/ UTC$/, "");
export const shortenText = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
