import {
  headerValue,
  headerValues,
  parseMessageId,
  parseMessageIds,
  type HeaderField,
} from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import { messageIds, type Message } from "../messages/index.ts";
import { MAX_REFERENCES } from "./replyable.ts";

/**
 * Checks that a reply belongs to the thread of the message it answers (RFC 5322 3.6.4) and returns the missing fields:
 * References, and the auto-reply field (RFC 3834 5).
 */
export function threadFields(incoming: Message, reply: HeaderField[]): HeaderField[] {
  checkInReplyTo(incoming, reply);
  const missing: HeaderField[] = [];
  if (headerValue(reply, "references") === undefined) missing.push(["References", referencesFor(incoming).join(" ")]);
  else checkReferences(incoming, headerValues(reply, "references").flatMap(parseMessageIds));
  if (headerValue(reply, "auto-submitted") === undefined) missing.push(["Auto-Submitted", "auto-replied"]);
  return missing;
}

function checkInReplyTo(incoming: Message, reply: HeaderField[]) {
  const value = headerValue(reply, "in-reply-to");
  if (value === undefined || value === "") throw mailErrors.noInReplyTo();
  if (parseMessageId(value) !== incoming.messageId)
    throw mailErrors.inReplyToMismatch({ messageId: incoming.messageId });
}

function checkReferences(incoming: Message, given: string[]) {
  const has = new Set(given);
  if (given.length > MAX_REFERENCES || !referencesFor(incoming).every((id) => has.has(id)))
    throw mailErrors.referencesInvalid();
}

/** The parent's references and the parent itself. */
function referencesFor(incoming: Message): string[] {
  const chain = messageIds(incoming, "references") ?? [];
  return [...chain.filter((id) => id !== incoming.messageId), incoming.messageId!];
}
