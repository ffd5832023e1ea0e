import { truncate } from "../../kernel/text.ts";
import {
  headerValue,
  headerValues,
  parseMessageId,
  parseMessageIds,
  type HeaderField,
} from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import { messageIds, type ParsedMessage } from "../messages/index.ts";
import { MAX_REFERENCES } from "./replyable.ts";

/** Maximum length of a header value in an error. */
const MAX_SHOWN = 200;

/**
 * Checks that a reply belongs to the thread of the message it answers (RFC 5322 3.6.4) and returns the missing fields:
 * References, and the auto-reply field (RFC 3834 5).
 */
export function threadFields(incoming: ParsedMessage, reply: HeaderField[]): HeaderField[] {
  checkInReplyTo(incoming, reply);
  const missingFields: HeaderField[] = [];
  if (headerValue(reply, "references") === undefined)
    missingFields.push(["References", referencesFor(incoming).join(" ")]);
  else checkReferences(incoming, headerValues(reply, "references").flatMap(parseMessageIds));
  if (headerValue(reply, "auto-submitted") === undefined) missingFields.push(["Auto-Submitted", "auto-replied"]);
  return missingFields;
}

function checkInReplyTo(incoming: ParsedMessage, reply: HeaderField[]) {
  const value = headerValue(reply, "in-reply-to");
  if (value === undefined || value === "") throw mailErrors.noInReplyTo({ messageId: incoming.messageId });
  if (parseMessageId(value) !== incoming.messageId)
    throw mailErrors.inReplyToMismatch({ messageId: incoming.messageId, given: truncate(value, MAX_SHOWN) });
}

function checkReferences(incoming: ParsedMessage, givenReferences: string[]) {
  const presentIds = new Set(givenReferences);
  const missingReference = referencesFor(incoming).find((id) => !presentIds.has(id));
  const isTooLong = givenReferences.length > MAX_REFERENCES;
  if (!isTooLong && missingReference === undefined) return;
  const problem = isTooLong ? `have ${givenReferences.length} entries` : `do not contain ${missingReference}`;
  throw mailErrors.referencesInvalid({ limit: MAX_REFERENCES, problem });
}

/** Returns the parent's references and the parent itself. */
function referencesFor(incoming: ParsedMessage): string[] {
  const chain = messageIds(incoming, "references") ?? [];
  return [...chain.filter((id) => id !== incoming.messageId), incoming.messageId!];
}
