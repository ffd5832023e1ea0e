import {
  headerValue,
  headerValues,
  parseAddress,
  parseAddressList,
  parseMessageId,
  readHeader,
  type HeaderField,
} from "../rfc5322/index.ts";
import { MAX_BOUNCE_BYTES } from "./bounce.ts";
import { readParts, type Part } from "./mime-parts.ts";

/** Feedback about a message from its recipient, or from the provider on the recipient's behalf (RFC 5965). */
export interface Feedback {
  /** "abuse", "fraud", "not-spam", "virus", "other", "auth-failure" ..., lower case. */
  type: string;
  userAgent?: string;
  /** Envelope of the original message. */
  mailFrom?: string;
  recipients: string[];
  /** From the returned copy of the original message. */
  messageId?: string;
  returnPath?: string;
  /** Addresses in the To field, used if the report does not contain the recipients: providers omit or redact them. */
  to: string[];
}

const LIMITS = { maxBytes: 64 * 1024, maxFields: 1000 };
const MAX_RECIPIENTS = 50;
const RETURNED_TYPES = new Set(["message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers"]);

/** Reads the first 256 KiB of a feedback report. Undefined if the message is not a feedback report. */
export function readFeedback(message: Uint8Array): Feedback | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, MAX_BOUNCE_BYTES));
  const { fields, leaves } = readParts(bytes);
  if (!/^multipart\/report\b/i.test(headerValue(fields, "content-type") ?? "")) return undefined;
  const report = leaves.find(({ type }) => type === "message/feedback-report");
  if (report === undefined) return undefined;
  const reportedFields = fieldsOf(report.body);
  // 3.1: the only required field except for User-Agent and Version.
  const type = /^[a-z0-9-]{1,40}/.exec(headerValue(reportedFields, "feedback-type")?.trim().toLowerCase() ?? "")?.[0];
  if (type === undefined) return undefined;
  const returnedDetails = returnedDetailsOf(leaves);
  const mailFrom = pathOf(headerValue(reportedFields, "original-mail-from"));
  const userAgent = headerValue(reportedFields, "user-agent")?.slice(0, 200);
  return {
    type,
    ...(userAgent ? { userAgent } : {}),
    ...(mailFrom === undefined ? {} : { mailFrom }),
    recipients: headerValues(reportedFields, "original-rcpt-to")
      .flatMap((value) => pathOf(value) ?? [])
      .slice(0, MAX_RECIPIENTS),
    ...returnedDetails,
  };
}

function returnedDetailsOf(leaves: Part[]): Pick<Feedback, "messageId" | "returnPath" | "to"> {
  const part = leaves.find(({ type }) => RETURNED_TYPES.has(type));
  const fields = part === undefined ? [] : fieldsOf(part.body);
  const messageId = parseMessageId(headerValue(fields, "message-id") ?? "");
  const returnPath = pathOf(headerValue(fields, "return-path"));
  const to = (parseAddressList((headerValue(fields, "to") ?? "").slice(0, 10_000)) ?? [])
    .slice(0, MAX_RECIPIENTS)
    .map(({ address }) => address);
  return { ...(messageId === undefined ? {} : { messageId }), ...(returnPath === undefined ? {} : { returnPath }), to };
}

function fieldsOf(body: Buffer): HeaderField[] {
  const text = body.toString("latin1", 0, LIMITS.maxBytes).replace(/^(?:[ \t]*\r?\n)+/, "");
  const reading = readHeader(Buffer.from(`${text.split(/\r?\n[ \t]*\r?\n/, 1)[0]}\r\n`, "latin1"), LIMITS);
  return reading.ok ? reading.fields : [];
}

/** Reads `<a@b>` or `a@b`. */
const pathOf = (value: string | undefined) => parseAddress((value ?? "").trim().replace(/^<(.*)>$/, "$1"))?.address;
