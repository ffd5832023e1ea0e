import { parseAddress } from "../../protocol/rfc5322/index.ts";
import { mailErrors, replyOf } from "../errors.ts";
import type { Outbound } from "../messages/index.ts";
import type { EnvelopeRecipient, RecipientResult } from "./types.ts";

/** A valid recipient. `rcpt` is the caller's spelling and identifies its result; `address` is the form used in SMTP. */
interface ResolvedRecipient extends EnvelopeRecipient {
  domain: string;
}

/** Returns the recipients of a message without duplicates, each with its domain, and the invalid recipients. */
export function resolveRecipients({ to, dsn, fromFor }: Pick<Outbound, "to" | "dsn" | "fromFor">): {
  good: ResolvedRecipient[];
  bad: RecipientResult[];
} {
  const validRecipients: ResolvedRecipient[] = [];
  const invalidRecipients: RecipientResult[] = [];
  for (const rcpt of new Set(to)) {
    const mailbox = parseAddress(rcpt);
    const { notify, orcpt } = dsn?.to?.[rcpt] ?? {};
    const from = fromFor?.get(rcpt);
    if (mailbox === undefined)
      invalidRecipients.push({
        rcpt,
        outcome: "permanent",
        reply: replyOf(mailErrors.recipientInvalid({ address: JSON.stringify(rcpt.slice(0, 100)) })),
      });
    else
      validRecipients.push({
        rcpt: mailbox.address,
        domain: mailbox.domain,
        ...(from !== undefined && { from: senderOf(from) }),
        ...(notify && { notify }),
        ...(orcpt !== undefined && { orcpt }),
      });
  }
  return { good: [...new Map(validRecipients.map((one) => [one.rcpt, one])).values()], bad: invalidRecipients };
}

/** Returns the sender as used in SMTP; "" remains the null sender. Throws UserError. */
export function senderOf(from: string): string {
  if (from === "") return "";
  const mailbox = parseAddress(from);
  if (mailbox === undefined) throw mailErrors.senderInvalid({ address: JSON.stringify(from.slice(0, 100)) });
  return mailbox.address;
}
