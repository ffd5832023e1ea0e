import type { Readable } from "node:stream";
import {
  addressKey,
  crlfLineEnds,
  headerValue,
  headerValues,
  type Mailbox,
  rfc5322Date,
} from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import { readMessage, type ParsedMessage, formatField, rewriteHeader, type Spool } from "../messages/index.ts";

/** Rules for a raw message from a worker, for both send() and reply(). */

/**
 * Reads a message to its end and converts line endings to CRLF. For an invalid message, throws UserError with the
 * documented text and stores nothing.
 */
export async function readRawMessage(
  spool: Spool,
  raw: Readable,
  { from, maxBytes }: { from: Mailbox; maxBytes: number },
): Promise<ParsedMessage> {
  const source = await spool.collect(crlfLineEnds(raw), { maxBytes });
  try {
    const message = readMessage(source);
    checkRawMessage(message, from);
    return message;
  } catch (err) {
    await source.discard();
    throw err;
  }
}

export function checkRawMessage(message: ParsedMessage, from: Mailbox): void {
  if (message.messageId === undefined) throw mailErrors.invalidMessageId();
  const [author, ...otherAuthors] = message.from;
  // Some clients would display another author, from this or a second From field, that was not checked.
  const isOnlyAuthor = otherAuthors.length === 0 && headerValues(message.fields, "from").length === 1;
  if (author === undefined || !isOnlyAuthor || addressKey(author) !== addressKey(from))
    throw mailErrors.fromMismatch({ from: from.address });
  if (headerValue(message.fields, "received") !== undefined) throw mailErrors.invalidHeaders();
}

/** Bcc: RFC 5322 3.6.3. Return-Path: added only at final delivery (RFC 5321 4.4). */
const DROPPED_FIELDS = new Set(["message-id", "bcc", "return-path"]);

/** Returns the message as sent: with a local identifier, a date, and `more` fields on top. */
export function finishRawMessage(
  message: ParsedMessage,
  { messageId, at, more = [] }: { messageId: string; at: Date; more?: [name: string, value: string][] },
): () => Readable | Uint8Array {
  const date: [string, string][] = headerValue(message.fields, "date") === undefined ? [["Date", rfc5322Date(at)]] : [];
  const addedFields = [...more, ["Message-ID", messageId] as const, ...date]
    .map(([name, value]) => formatField(name, value))
    .join("");
  return rewriteHeader(message.source, { drop: DROPPED_FIELDS, add: addedFields });
}
