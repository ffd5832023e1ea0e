import { addressKey, parseMailbox, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { SendEmailBinding } from "../../workers/index.ts";
import { mailErrors } from "../errors.ts";

/** The four kinds of binding: free, one destination, a list of destinations, a list of senders (which goes with any of the three). */

export function checkSender(binding: SendEmailBinding, from: Mailbox): void {
  if (binding.allowed_sender_addresses === undefined || includes(binding.allowed_sender_addresses, from)) return;
  throw mailErrors.senderNotAllowed({ address: from.address, fix: `Send from one of the allowed_sender_addresses of ${binding.name}: ${binding.allowed_sender_addresses.join(", ")}.` });
}

/** Every recipient, whether in to, cc or bcc. */
export function checkRecipients(binding: SendEmailBinding, recipients: Mailbox[]): void {
  const allowed = binding.destination_address === undefined ? binding.allowed_destination_addresses : [binding.destination_address];
  const refused = allowed && recipients.find((one) => !includes(allowed, one));
  if (refused) throw mailErrors.recipientNotAllowed({ address: refused.address, fix: `${binding.name} may send to: ${allowed.join(", ")}.` });
}

function includes(list: string[], mailbox: Mailbox): boolean {
  return list.some((entry) => {
    const parsed = parseMailbox(entry);
    return parsed !== undefined && addressKey(parsed) === addressKey(mailbox);
  });
}
