import { isAscii } from "node:buffer";
import { rfc5322Date } from "../rfc5322/index.ts";
import type { OriginalRecipient } from "./params.ts";
import { encodeUtf8Address } from "./xtext.ts";

/** RFC 3464 2.3.3. */
export type DsnAction = "failed" | "delayed" | "delivered" | "relayed" | "expanded";

export interface ReportedRecipient {
  /** The final recipient. */
  address: string;
  /** ORCPT, if the sender provided one. */
  original?: OriginalRecipient;
  action: DsnAction;
  /** RFC 3463 status, such as "5.1.1". */
  status: string;
  /** Reply of the remote server, starting with the code: "550 5.1.1 No such user". */
  diagnostic?: string;
  /** The server that replied. */
  remoteMta?: string;
  lastAttempt?: Date;
  /** Set if delayed: the time at which retries end. */
  retryUntil?: Date;
}

export interface DeliveryReport {
  /** This server's host name. */
  reportingMta: string;
  /** The From header, such as "MAILER-DAEMON@mx.example". */
  from: string;
  /** Envelope sender of the original message; never "". */
  to: string;
  messageId: string;
  date: Date;
  /** Random string, which must not occur in the returned message. */
  boundary: string;
  envelopeId?: string;
  arrived?: Date;
  /** Message-ID of the original message. */
  inReplyTo?: string;
  recipients: readonly ReportedRecipient[];
  returned: "headers" | "full";
  /** True if the header section of the returned message has non-ASCII octets (RFC 6533 4). */
  returnedUtf8?: boolean;
}

/** Envelope sender of every report (RFC 3464 2, RFC 5321 4.5.5). */
export const REPORT_SENDER = "";

/**
 * Builds a delivery report (RFC 3464, a multipart/report of RFC 6522). Returns the octets before and after the returned
 * message or header section, which is inserted unchanged. Throws TypeError for a report to the null sender or without
 * recipients.
 */
export function buildReport(report: DeliveryReport): { before: Buffer; after: Buffer } {
  if (report.to === "") throw new TypeError("cannot send a delivery report to the null sender");
  if (report.recipients.length === 0) throw new TypeError("a report needs at least one recipient");
  const { boundary } = report;
  const text = explanationLines(report);
  const leadingLines = [
    ...header(report),
    "",
    `--${boundary}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Transfer-Encoding: ${isAscii(Buffer.from(text)) ? "7bit" : "8bit"}`,
    "",
    text,
    `--${boundary}`,
    "Content-Type: message/delivery-status",
    "",
    ...messageFields(report),
    ...report.recipients.flatMap((recipient) => ["", ...recipientFields(recipient)]),
    "",
    `--${boundary}`,
    ...returnedHeader(report),
    "",
    "",
  ];
  return { before: Buffer.from(leadingLines.join("\r\n")), after: Buffer.from(`\r\n--${boundary}--\r\n`) };
}

const SUBJECTS: Record<DsnAction, string> = {
  failed: "Undelivered mail returned to sender",
  delayed: "Delayed mail (still being retried)",
  delivered: "Message delivered",
  relayed: "Message relayed",
  expanded: "Message delivered to a mailing list",
};

function header({
  from,
  to,
  date,
  messageId,
  inReplyTo,
  recipients,
  boundary,
  reportingMta,
}: DeliveryReport): string[] {
  return [
    `From: Mail Delivery System <${clean(from)}>`,
    `To: <${clean(to)}>`,
    `Subject: ${SUBJECTS[recipients[0]!.action]}`,
    `Date: ${rfc5322Date(date)}`,
    `Message-ID: ${clean(messageId)}`,
    ...(inReplyTo === undefined ? [] : [`In-Reply-To: ${clean(inReplyTo)}`, `References: ${clean(inReplyTo)}`]),
    // RFC 3834 5: prevents autoresponders from replying.
    "Auto-Submitted: auto-replied",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="${boundary}"`,
    "Content-Transfer-Encoding: 8bit",
    "",
    `This is a delivery status notification (RFC 3464) from ${clean(reportingMta)}.`,
  ];
}

function explanationLines({ recipients, reportingMta }: DeliveryReport): string {
  const lines = [`This is the mail server ${clean(reportingMta)}.`, ""];
  for (const { address, action, status, diagnostic, retryUntil } of recipients.slice(0, MAX_EXPLAINED)) {
    lines.push(`<${clean(address)}>: ${EXPLANATIONS[action]} (${clean(status)})`);
    if (diagnostic !== undefined) lines.push(`    ${clean(diagnostic)}`);
    if (action === "delayed" && retryUntil !== undefined)
      lines.push(
        `    This server will keep trying until ${rfc5322Date(retryUntil)}. You do not need to resend the message.`,
      );
  }
  if (recipients.length > MAX_EXPLAINED)
    lines.push(`... and ${recipients.length - MAX_EXPLAINED} more, listed in the next part.`);
  return [...lines, ""].join("\r\n");
}

const MAX_EXPLAINED = 50;

const EXPLANATIONS: Record<DsnAction, string> = {
  failed: "the message could not be delivered",
  delayed: "the message could not be delivered yet",
  delivered: "the message was delivered",
  relayed: "the message was relayed to a server that does not send delivery notifications",
  expanded: "the message was delivered to a mailing list",
};

/** Fields for the whole message (RFC 3464 2.2). */
function messageFields({ envelopeId, reportingMta, arrived }: DeliveryReport): string[] {
  return [
    ...(envelopeId === undefined ? [] : [`Original-Envelope-Id: ${toAscii(envelopeId)}`]),
    `Reporting-MTA: dns; ${toAscii(reportingMta)}`,
    ...(arrived === undefined ? [] : [`Arrival-Date: ${rfc5322Date(arrived)}`]),
  ];
}

/** Fields for each recipient (RFC 3464 2.3). */
function recipientFields({
  address,
  original,
  action,
  status,
  diagnostic,
  remoteMta,
  lastAttempt,
  retryUntil,
}: ReportedRecipient): string[] {
  return [
    ...(original === undefined ? [] : [`Original-Recipient: ${addressField(original.address, original.type)}`]),
    `Final-Recipient: ${addressField(address, "rfc822")}`,
    `Action: ${action}`,
    `Status: ${toAscii(status)}`,
    ...(remoteMta === undefined ? [] : [`Remote-MTA: dns; ${toAscii(remoteMta)}`]),
    ...(diagnostic === undefined ? [] : [`Diagnostic-Code: smtp; ${toAscii(diagnostic)}`]),
    ...(lastAttempt === undefined ? [] : [`Last-Attempt-Date: ${rfc5322Date(lastAttempt)}`]),
    // 2.3.9: only present if the action is delayed.
    ...(retryUntil === undefined || action !== "delayed" ? [] : [`Will-Retry-Until: ${rfc5322Date(retryUntil)}`]),
  ];
}

/** RFC 6533 3: this part remains ASCII. */
function addressField(address: string, type: string): string {
  return isAscii(Buffer.from(address)) && type !== "utf-8"
    ? `${toAscii(type)}; ${toAscii(address)}`
    : `utf-8; ${encodeUtf8Address(clean(address))}`;
}

function returnedHeader({ returned, returnedUtf8 = false }: DeliveryReport): string[] {
  const plainType = returned === "full" ? "message/rfc822" : "text/rfc822-headers";
  const globalType = returned === "full" ? "message/global" : "message/global-headers";
  return [
    `Content-Type: ${returnedUtf8 ? globalType : plainType}`,
    ...(returned === "full" || returnedUtf8 ? ["Content-Transfer-Encoding: 8bit"] : []),
  ];
}

/** Text from remote servers must not end a line or make it too long (RFC 5322 2.1.1). */
const clean = (text: string) =>
  text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(0, MAX_TEXT_LENGTH);
const toAscii = (text: string) => clean(text).replace(/[^ -~]/gu, "?");
const MAX_TEXT_LENGTH = 900;
