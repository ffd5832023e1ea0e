import type { CountColumn } from "../../../mail/index.ts";
import { type DatasetColumn, indexByName } from "./columns.ts";

export type EmailColumn = DatasetColumn<CountColumn>;

const MINUTE_MS = 60_000;

const time = (name: string, step: number, type: "time" | "date" = "time"): EmailColumn => ({
  name,
  column: `at/${step}`,
  type,
  step,
});
const text = (name: string, column: CountColumn): EmailColumn => ({ name, column, type: "text" });

const BOTH: EmailColumn[] = [
  { name: "datetime", column: "at", type: "time" },
  time("datetimeMinute", MINUTE_MS),
  time("datetimeFiveMinutes", 5 * MINUTE_MS),
  time("datetimeFifteenMinutes", 15 * MINUTE_MS),
  time("datetimeHour", 60 * MINUTE_MS),
  time("date", 24 * 60 * MINUTE_MS, "date"),
  text("status", "status"),
  text("eventType", "origin"),
  text("spf", "spf"),
  text("dkim", "dkim"),
  text("dmarc", "dmarc"),
  text("arc", "arc"),
  text("errorCause", "error_cause"),
  { name: "isSpam", column: "is_spam", type: "flag" },
  { name: "isNDR", column: "is_ndr", type: "flag" },
  { name: "spamScore", column: "spam_score", type: "number", single: true },
  { name: "spamThreshold", column: "spam_threshold", type: "number", single: true },
  { ...text("sessionId", "session"), single: true },
  { ...text("messageId", "header_id"), single: true },
  { ...text("subject", "subject"), single: true },
  { ...text("errorDetail", "error"), single: true },
  { name: "from", column: "mail_from", compared: "from_key", type: "address", single: true },
  { name: "to", column: "rcpt", compared: "rcpt_key", type: "address", single: true },
];

export const ROUTING_COLUMNS: ReadonlyMap<string, EmailColumn> = indexByName([
  ...BOTH,
  text("action", "action"),
  text("ruleMatched", "rule"),
]);
/** The zone, which only queries for an account need. */
export const ZONE_COLUMN: EmailColumn = text("zoneTag", "zone_id");
export const SENDING_COLUMNS: ReadonlyMap<string, EmailColumn> = indexByName([
  ...BOTH,
  text("sendingDomain", "domain"),
  { name: "envelopeTo", column: "rcpt_key", compared: "rcpt_key", type: "address" },
]);
