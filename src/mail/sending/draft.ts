import { addressKey, parseMailbox, parseAddress, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { MailBuilderFields } from "../../workers/ports.ts";
import { mailErrors } from "../errors.ts";
import { readAttachments, type Attachment } from "./attachments.ts";
import { WORKER_FIELDS, type FieldNames } from "./field-names.ts";
import { checkHeaders } from "./header-policy.ts";

/** A builder message after validation. */
export interface Draft {
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  bcc: Mailbox[];
  replyTo?: Mailbox;
  subject: string;
  headers: [name: string, value: string][];
  text?: string;
  html?: string;
  attachments: Attachment[];
}

const MAX_SUBJECT_LENGTH = 998;
/** Maximum number of addresses parsed per field, to detect that there are too many. */
export const MAX_LISTED = 1000;

/**
 * Throws UserError with an E_* code for the first invalid field; `names` contains the field names for the error text.
 */
export function readDraft(mail: MailBuilderFields, names: FieldNames = WORKER_FIELDS): Draft {
  if (typeof mail !== "object" || mail === null)
    throw mailErrors.invalidField({
      field: "message",
      why: "must be an EmailMessage or an object with from, to and subject",
    });
  const draft: Draft = {
    from: readMailbox(requireValue(mail.from, "from", "Set it to the sender address."), "from", names),
    to: readMailboxes(mail.to, "to", names),
    cc: readMailboxes(mail.cc, "cc", names),
    bcc: readMailboxes(mail.bcc, "bcc", names),
    subject: readSubject(mail.subject),
    headers: checkHeaders(mail.headers, names),
    attachments: readAttachments(mail.attachments, names),
  };
  if (isGiven(mail.replyTo)) draft.replyTo = readMailbox(mail.replyTo, names.replyTo, names);
  if (isGiven(mail.text)) draft.text = body(mail.text, "text");
  if (isGiven(mail.html)) draft.html = body(mail.html, "html");
  if (draft.text === undefined && draft.html === undefined && draft.attachments.length === 0)
    throw mailErrors.fieldMissing({ field: "text", fix: "Set text, html or both." });
  return draft;
}

/** Returns every envelope recipient, without duplicates. */
export function recipientsOf({ to, cc, bcc }: Pick<Draft, "to" | "cc" | "bcc">): Mailbox[] {
  return [...new Map([...to, ...cc, ...bcc].map((one) => [addressKey(one), one])).values()];
}

const isGiven = (value: unknown) => value !== undefined && value !== null;

function requireValue(value: unknown, field: string, fix: string): unknown {
  if (!isGiven(value) || value === "") throw mailErrors.fieldMissing({ field, fix });
  return value;
}

function readMailboxes(value: unknown, field: string, names: FieldNames): Mailbox[] {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value)) return [readMailbox(value, field, names)];
  if (value.length > MAX_LISTED) throw mailErrors.tooManyRecipients({ count: value.length, limit: MAX_LISTED });
  return value.map((one, i) => readMailbox(one, `${field}[${i}]`, names));
}

/** Reads a mailbox: `"a@b"`, `"Name <a@b>"`, `{ email, name }` or `{ address, name }`. */
function readMailbox(value: unknown, field: string, names: FieldNames): Mailbox {
  if (typeof value === "string") {
    const parsed = parseMailbox(value);
    if (parsed === undefined) throw mailErrors.invalidField({ field, why: `is not an email address: ${quote(value)}` });
    return withCheckedName(parsed, field);
  }
  if (typeof value !== "object" || value === null)
    throw mailErrors.invalidField({
      field,
      why: `must be an address like 'user@example.com', or { ${names.address}, name }`,
    });
  const { email, address, name } = value as { email?: unknown; address?: unknown; name?: unknown };
  const [key, text] =
    email !== undefined ? ["email", email] : address !== undefined ? ["address", address] : [names.address, undefined];
  const fieldPath = `${field}.${key}`;
  if (typeof text !== "string")
    throw mailErrors.fieldMissing({ field: fieldPath, fix: `An address is a string or { ${names.address}, name }.` });
  const parsed = parseAddress(text);
  if (parsed === undefined)
    throw mailErrors.invalidField({ field: fieldPath, why: `is not an email address: ${quote(text)}` });
  if (isGiven(name) && typeof name !== "string")
    throw mailErrors.invalidField({ field: `${field}.name`, why: "must be a string" });
  return withCheckedName({ ...parsed, name: (name as string | undefined) ?? "" }, field);
}

function withCheckedName(parsed: Mailbox, field: string): Mailbox {
  if (/\p{Cc}/u.test(parsed.name)) throw mailErrors.invalidField({ field, why: "has control characters in its name" });
  if (parsed.name.length > MAX_SUBJECT_LENGTH)
    throw mailErrors.invalidField({ field, why: "has a name that is too long" });
  return parsed;
}

function readSubject(value: unknown): string {
  if (!isGiven(value)) throw mailErrors.fieldMissing({ field: "subject", fix: "Set a subject." });
  if (typeof value !== "string") throw mailErrors.invalidField({ field: "subject", why: "must be a string" });
  if (value.length > MAX_SUBJECT_LENGTH)
    throw mailErrors.invalidField({ field: "subject", why: `is longer than ${MAX_SUBJECT_LENGTH} characters` });
  if (/\p{Cc}/u.test(value))
    throw mailErrors.invalidField({
      field: "subject",
      why: "must not contain line breaks or other control characters",
    });
  return value;
}

function body(value: unknown, field: string): string {
  if (typeof value !== "string") throw mailErrors.invalidField({ field, why: "must be a string" });
  return value;
}

const quote = (text: string) => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
