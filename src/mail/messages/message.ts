import {
  headerValue,
  headerValues,
  HEADER_LIMITS,
  parseAddressList,
  parseMessageId,
  parseMessageIds,
  readHeader,
  type HeaderField,
  type Mailbox,
} from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import type { MailSource } from "./types.ts";

/** A message with its header parsed once. */
export interface ParsedMessage {
  source: MailSource;
  fields: HeaderField[];
  /** With angle brackets; undefined if missing or invalid. */
  messageId: string | undefined;
  /** The mailboxes of From and To; empty if the field is missing or invalid. */
  from: Mailbox[];
  to: Mailbox[];
}

/** Limits for the header of an incoming message, plus space for the fields added on top. */
const LIMITS = { maxBytes: HEADER_LIMITS.maxBytes + 4096, maxFields: HEADER_LIMITS.maxFields + 20 };

/** Throws UserError (`could not parse email: ...`) if the header section exceeds its limits. */
export function readMessage(source: MailSource): ParsedMessage {
  const reading = readHeader(source.headerBlock, LIMITS);
  if (!reading.ok) throw mailErrors.cannotParse({ why: reading.why });
  const { fields } = reading;
  return {
    source,
    fields,
    messageId: parseMessageId(headerValue(fields, "message-id") ?? ""),
    from: parseAddressList(headerValue(fields, "from") ?? "") ?? [],
    to: headerValues(fields, "to").flatMap((value) => parseAddressList(value) ?? []),
  };
}

/** Returns the identifiers of References or In-Reply-To, in order; undefined if the field is missing. */
export function messageIds(message: ParsedMessage, field: "references" | "in-reply-to"): string[] | undefined {
  const values = headerValues(message.fields, field);
  return values.length === 0 ? undefined : values.flatMap(parseMessageIds);
}
