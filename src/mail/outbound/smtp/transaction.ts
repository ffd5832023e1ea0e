import type { SmtpReply } from "../../messages/index.ts";
import type { EnvelopeRecipient, RecipientResult } from "../types.ts";
import { replyOutcome, parseReply, reply, type TransactionStep } from "./replies.ts";

/** The reply to each recipient of one transaction. */
export type RecipientReplies = Pick<RecipientResult, "rcpt" | "outcome" | "reply">[];

export type RecipientReply = Omit<RecipientReplies[number], "rcpt">;

/** The recipient's own reply if RCPT was rejected, otherwise the reply to the message. */
export const recipientReplies = (
  to: EnvelopeRecipient[],
  rejected: ReadonlyMap<string, RecipientReply>,
  message: RecipientReply,
): RecipientReplies => to.map(({ rcpt }) => ({ rcpt, ...(rejected.get(rcpt) ?? message) }));

export function recipientReplyOf(raw: string, command: TransactionStep): RecipientReply {
  const parsed: SmtpReply = parseReply(raw) ?? reply(451, "4.5.0", `a malformed reply: ${raw}`);
  // A positive reply to DATA other than 354 accepts nothing.
  if (command === "DATA" && parsed.code < 400)
    return { outcome: "temporary", reply: reply(451, "4.5.0", `unexpected reply to DATA: ${raw}`) };
  return { outcome: replyOutcome(parsed, command), reply: parsed };
}

/** Returns the reply for an address that would end its command. */
export const invalidAddress = (address: string): RecipientReply => ({
  outcome: "permanent",
  reply: reply(550, "5.1.3", `the address cannot be sent over SMTP: ${address}`),
});
