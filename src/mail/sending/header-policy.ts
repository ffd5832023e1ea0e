import { isFieldName } from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import type { FieldNames } from "./field-names.ts";

/** The allowed `headers` of a builder message: an allow-list, and every X- name. */

const PLATFORM_HEADERS = new Set([
  "date",
  "message-id",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "dkim-signature",
  "return-path",
  "received",
  "feedback-id",
  "tls-required",
  "tls-report-domain",
  "tls-report-submitter",
  "cfbl-address",
  "cfbl-feedback-id",
]);

const DRAFT_FIELDS = new Set(["from", "to", "cc", "bcc", "subject", "reply-to"]);

const ALLOWED_HEADERS = new Map(
  [
    "In-Reply-To",
    "References",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "List-Id",
    "List-Archive",
    "List-Help",
    "List-Owner",
    "List-Post",
    "List-Subscribe",
    "Precedence",
    "Auto-Submitted",
    "Content-Language",
    "Keywords",
    "Comments",
    "Importance",
    "Priority",
    "Sensitivity",
    "Organization",
    "Require-Recipient-Valid-Since",
    "Expires",
    "Reply-By",
    "Archived-At",
  ].map((name) => [name.toLowerCase(), name]),
);

/** Fields whose values come from a fixed set of keywords, compared case-insensitively. */
const ALLOWED_WORDS: Record<string, string[]> = {
  precedence: ["bulk", "list", "junk"],
  "auto-submitted": ["auto-generated", "auto-replied", "auto-notified"],
  importance: ["high", "normal", "low"],
  priority: ["normal", "non-urgent", "urgent"],
  sensitivity: ["personal", "private", "company-confidential"],
};

const MAX_NAME_LENGTH = 100;
const MAX_VALUE_LENGTH = 2048;
const MAX_TOTAL_LENGTH = 16 * 1024;
const MAX_ALLOWLISTED = 20;

/**
 * Validates the `headers` object and returns its fields in order, allow-listed names in their canonical spelling.
 * Throws UserError with an E_HEADER* code.
 */
export function checkHeaders(
  headers: unknown,
  names: Pick<FieldNames, "replyTo"> = { replyTo: "replyTo" },
): [name: string, value: string][] {
  if (headers === undefined || headers === null) return [];
  if (typeof headers !== "object" || Array.isArray(headers))
    throw mailErrors.invalidField({ field: "headers", why: "must be an object of header names and values" });
  const fields = Object.entries(headers).map(([name, value]): [string, string] => [
    checkName(name, names),
    checkValue(name, value),
  ]);
  checkTotals(fields);
  checkUnsubscribe(new Map(fields.map(([name, value]) => [name.toLowerCase(), value])));
  return fields;
}

function checkName(name: string, { replyTo }: Pick<FieldNames, "replyTo">): string {
  if (name.length > MAX_NAME_LENGTH)
    throw mailErrors.headerNameInvalid({ name: `${name.slice(0, 40)}...`, why: `exceeds ${MAX_NAME_LENGTH} bytes` });
  const lowerName = name.toLowerCase();
  if (lowerName.startsWith("x-")) {
    if (!/^x-[a-z0-9_-]+$/.test(lowerName))
      throw mailErrors.headerNameInvalid({ name, why: "contains invalid characters" });
    return name;
  }
  if (!/^[a-z0-9-]+$/.test(lowerName)) throw mailErrors.headerNameInvalid({ name, why: "contains invalid characters" });
  if (DRAFT_FIELDS.has(lowerName))
    throw mailErrors.headerUseField({ name, field: lowerName === "reply-to" ? replyTo : lowerName });
  if (PLATFORM_HEADERS.has(lowerName) || lowerName.startsWith("arc-")) throw mailErrors.headerPlatform({ name });
  const usualName = ALLOWED_HEADERS.get(lowerName);
  if (usualName === undefined) throw mailErrors.headerNotAllowed({ name });
  return usualName;
}

function checkValue(name: string, value: unknown): string {
  if (typeof value !== "string") throw mailErrors.headerValueInvalid({ name, why: "must be a string" });
  if (value.trim() === "") throw mailErrors.headerValueInvalid({ name, why: "must not be empty" });
  if (Buffer.byteLength(value) > MAX_VALUE_LENGTH)
    throw mailErrors.headerValueTooLong({ name, limit: MAX_VALUE_LENGTH });
  if (hasLineControl(value)) throw mailErrors.headerValueInvalid({ name, why: "must not contain control characters" });
  const allowedWords = ALLOWED_WORDS[name.toLowerCase()];
  if (allowedWords !== undefined && !allowedWords.includes(value.trim().toLowerCase()))
    throw mailErrors.headerValueInvalid({ name, why: `must be one of ${allowedWords.join(", ")}` });
  return value;
}

function checkTotals(fields: [string, string][]) {
  const allowlisted = fields.filter(([name]) => !name.toLowerCase().startsWith("x-")).length;
  if (allowlisted > MAX_ALLOWLISTED) throw mailErrors.headersTooMany({ count: allowlisted, limit: MAX_ALLOWLISTED });
  // Counts name, ": ", value and CRLF.
  const total = fields.reduce((sum, [name, value]) => sum + name.length + 2 + Buffer.byteLength(value) + 2, 0);
  if (total > MAX_TOTAL_LENGTH)
    throw mailErrors.headersTooLarge({ size: (total / 1024).toFixed(1), limit: MAX_TOTAL_LENGTH / 1024 });
  const seen = new Set<string>();
  for (const [name] of fields) {
    if (seen.has(name.toLowerCase())) throw mailErrors.headerValueInvalid({ name, why: "is given twice" });
    seen.add(name.toLowerCase());
  }
}

/** Checks the rules of RFC 2369 and RFC 8058. */
function checkUnsubscribe(fields: Map<string, string>) {
  const list = fields.get("list-unsubscribe");
  if (list !== undefined && !isUriList(list))
    throw mailErrors.headerValueInvalid({
      name: "List-Unsubscribe",
      why: "must contain angle-bracket HTTPS or mailto URI(s)",
    });
  const post = fields.get("list-unsubscribe-post");
  if (post === undefined) return;
  if (post !== "List-Unsubscribe=One-Click")
    throw mailErrors.headerValueInvalid({
      name: "List-Unsubscribe-Post",
      why: "must be exactly 'List-Unsubscribe=One-Click'",
    });
  if (!/<https:\/\//i.test(list ?? ""))
    throw mailErrors.headerValueInvalid({
      name: "List-Unsubscribe-Post",
      why: "requires a List-Unsubscribe header with an HTTPS URI",
    });
}

const isUriList = (value: string) =>
  value.split(",").every((part) => /^<(?:https:\/\/|mailto:)[^<>\s]+>$/i.test(part.trim()));

/** Matches control characters other than a tab: they would end the line or be rejected by a next hop. */
const hasLineControl = (value: string) => /[^\P{Cc}\t]/u.test(value);

/** Checks the X- headers that forward() adds. Values come from a Headers object. */
export function checkForwardHeaders(headers: [name: string, value: string][]): [name: string, value: string][] {
  let total = 0;
  for (const [name, value] of headers) {
    if (!/^x-./i.test(name)) throw mailErrors.forwardHeaderNotAllowed({ name: name.slice(0, MAX_NAME_LENGTH) });
    if (name.length > MAX_NAME_LENGTH || !isFieldName(name))
      throw mailErrors.headerNameInvalid({
        name: name.slice(0, MAX_NAME_LENGTH),
        why: "contains invalid characters or is too long",
      });
    if (hasLineControl(value))
      throw mailErrors.headerValueInvalid({ name, why: "must not contain control characters" });
    const bytes = Buffer.byteLength(value);
    if (bytes > MAX_VALUE_LENGTH) throw mailErrors.headerValueTooLong({ name, limit: MAX_VALUE_LENGTH });
    total += name.length + 2 + bytes + 2;
  }
  if (total > MAX_TOTAL_LENGTH)
    throw mailErrors.headersTooLarge({ size: (total / 1024).toFixed(1), limit: MAX_TOTAL_LENGTH / 1024 });
  return headers;
}
