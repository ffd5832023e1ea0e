import { headerValue, headerValues } from "../../protocol/rfc5322/index.ts";
import { messageIds } from "../messages/index.ts";
import type { LiveMail } from "./live-mail.ts";

export const MAX_REFERENCES = 100;

/**
 * Returns why a message must not get an automatic reply, or undefined if it may. RFC 3834 2, and the rules of the
 * platform.
 */
export function whyNotReplyable({ from, message, verdict }: LiveMail): string | undefined {
  const word = (name: string) => headerValue(message.fields, name)?.split(";")[0]!.trim().toLowerCase();
  if (from === "") return "It has a null sender: it is a bounce or another notification that cannot be replied to.";
  // Without this check, forged senders would make the worker flood other people with replies.
  if (verdict !== undefined && verdict.dmarc.result !== "pass")
    return `It does not pass DMARC (${verdict.dmarc.result}): its sender may be forged.`;
  if (message.messageId === undefined) return "It has no Message-ID for the reply to refer to.";
  if (!["none", undefined].includes(word("x-auto-response-suppress")))
    return "It requests no automatic replies (X-Auto-Response-Suppress).";
  if (!["no", undefined].includes(word("auto-submitted"))) return "It was sent automatically (Auto-Submitted).";
  if (
    headerValues(message.fields, "precedence").some((value) => ["bulk", "junk", "list"].includes(value.toLowerCase()))
  )
    return "It is bulk mail (Precedence).";
  if (headerValue(message.fields, "list-id") !== undefined) return "It comes from a mailing list (List-Id).";
  const [inReplyTo, references] = [messageIds(message, "in-reply-to"), messageIds(message, "references")];
  if ((inReplyTo === undefined) !== (references === undefined)) return "It has only one of In-Reply-To and References.";
  if (references !== undefined && references.length >= MAX_REFERENCES)
    return `Its References header has ${MAX_REFERENCES} entries or more.`;
  return undefined;
}
