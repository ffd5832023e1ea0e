import { addressKey, parseAddress, parseMailbox, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { SendEmailBinding } from "../../workers/index.ts";
import { mailErrors } from "../errors.ts";
import { recipientsOf, type Draft } from "./draft.ts";

/**
 * The four kinds of binding: unrestricted, one destination, a list of destinations, and a list of senders (which can be
 * combined with any of the three).
 */

export function checkSender(binding: SendEmailBinding, from: Mailbox): void {
  if (binding.allowed_sender_addresses === undefined || includes(binding.allowed_sender_addresses, from)) return;
  throw mailErrors.senderNotAllowed({
    address: from.address,
    fix: `Send from one of the allowed_sender_addresses of ${binding.name}: ${binding.allowed_sender_addresses.join(", ")}.`,
  });
}

/** Checks every recipient in to, cc and bcc. */
export function checkRecipients(binding: SendEmailBinding, recipients: Mailbox[]): void {
  const allowedDestinations =
    binding.destination_address === undefined ? binding.allowed_destination_addresses : [binding.destination_address];
  const refusedRecipient =
    allowedDestinations && recipients.find((candidate) => !includes(allowedDestinations, candidate));
  if (refusedRecipient)
    throw mailErrors.recipientNotAllowed({
      address: refusedRecipient.address,
      fix: `${binding.name} may send to: ${allowedDestinations.join(", ")}.`,
    });
}

function includes(list: string[], mailbox: Mailbox): boolean {
  return list.some((entry) => {
    const parsed = parseMailbox(entry);
    return parsed !== undefined && addressKey(parsed) === addressKey(mailbox);
  });
}

/**
 * Returns the recipients of a builder message; a binding with one destination supplies it if the code specifies no
 * recipient.
 */
export function resolveBindingRecipients(draft: Draft, binding: SendEmailBinding): Mailbox[] {
  const namedRecipients = recipientsOf(draft);
  if (namedRecipients.length > 0) return namedRecipients;
  draft.to = [parseAddressField(onlyDestination(binding), "to")];
  return draft.to;
}

export function onlyDestination(binding: SendEmailBinding): string {
  if (binding.destination_address !== undefined) return binding.destination_address;
  throw mailErrors.fieldMissing({
    field: "to",
    fix: "Set at least one of to, cc and bcc, or destination_address on the binding.",
  });
}

export function parseAddressField(text: string, field: string): Mailbox {
  const parsed = parseAddress(text);
  if (parsed === undefined)
    throw mailErrors.invalidField({ field, why: `is not an email address: ${JSON.stringify(text.slice(0, 100))}` });
  return parsed;
}
