import { truncate } from "../../kernel/text.ts";
import { headerValue, headerValues } from "../../protocol/rfc5322/index.ts";
import { messageIds } from "../messages/index.ts";
import type { LiveMail } from "./live-mail.ts";

export const MAX_REFERENCES = 100;

/** Maximum length of a header value in an explanation. */
const MAX_SHOWN = 100;

/**
 * Returns the reason why a message must not get an automatic reply, and what to do about it; undefined if it may get
 * one. Follows RFC 3834 2 and the rules of the platform.
 */
export function noReplyReason({ from, message, verdict }: LiveMail): string | undefined {
  const { fields, messageId } = message;
  const word = (name: string) => headerValue(fields, name)?.split(";")[0]!.trim().toLowerCase();
  const field = (name: string) => `${name}: ${truncate(headerValue(fields, name) ?? "", MAX_SHOWN)}`;
  const automatic = (what: string, name: string) =>
    `It ${what} (${field(name)}). Skip reply() for messages with this header.`;
  if (from === "")
    return "It has a null sender: it is a bounce or another notification that cannot be replied to. Skip reply() if message.from is empty.";
  // Without this check, forged senders would make the worker flood other people with replies.
  if (verdict !== undefined && verdict.dmarc.result !== "pass")
    return `It does not pass DMARC (${verdict.dmarc.result}): its sender ${from} may be forged. Skip reply() for such messages.`;
  if (messageId === undefined)
    return "It has no Message-ID for the reply to refer to. Send the message with a Message-ID header.";
  if (!["none", undefined].includes(word("x-auto-response-suppress")))
    return automatic("requests no automatic replies", "X-Auto-Response-Suppress");
  if (!["no", undefined].includes(word("auto-submitted"))) return automatic("was sent automatically", "Auto-Submitted");
  const bulk = headerValues(fields, "precedence").find((value) =>
    ["bulk", "junk", "list"].includes(value.toLowerCase()),
  );
  if (bulk !== undefined) return `It is bulk mail (Precedence: ${bulk}). Skip reply() for messages with this header.`;
  if (headerValue(fields, "list-id") !== undefined) return automatic("comes from a mailing list", "List-Id");
  const [inReplyTo, references] = [messageIds(message, "in-reply-to"), messageIds(message, "references")];
  if ((inReplyTo === undefined) !== (references === undefined)) {
    const [present, absent] = references === undefined ? ["In-Reply-To", "References"] : ["References", "In-Reply-To"];
    return `It has ${field(present)}, but no ${absent}. Send the message with both headers or with neither.`;
  }
  if (references !== undefined && references.length >= MAX_REFERENCES)
    return `Its References header has ${references.length} entries. Send the message with fewer than ${MAX_REFERENCES}.`;
  return undefined;
}
