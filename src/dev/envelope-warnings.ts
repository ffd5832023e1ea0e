import { addressKey, headerValues, parseAddressList, parseMailbox, type Mailbox } from "../protocol/rfc5322/index.ts";
import type { InboundMail } from "../workers/index.ts";

/**
 * Compares envelope and headers, which are independent (RFC 5321 3.3). They often differ in real mail, but in a test a
 * difference is usually a mistake, and the worker sees the envelope in `message.from` and `message.to`. Delivery
 * reports have no envelope sender (RFC 5321 4.5.5).
 */
export function envelopeWarnings({ from, to, headers }: Pick<InboundMail, "from" | "to" | "headers">): string[] {
  const warnings: string[] = [];
  const authors = mailboxesOf(headers, "from");
  const recipients = [...mailboxesOf(headers, "to"), ...mailboxesOf(headers, "cc")];
  if (from !== "" && !includes(authors, from))
    warnings.push(`MAIL FROM <${from}> is not the address in the From header: ${list(authors)}`);
  if (!includes(recipients, to)) warnings.push(`RCPT TO <${to}> is not in the To or Cc header: ${list(recipients)}`);
  return warnings;
}

const mailboxesOf = (headers: InboundMail["headers"], name: string) =>
  headerValues(headers, name).flatMap((value) => parseAddressList(value) ?? []);

function includes(mailboxes: Mailbox[], address: string): boolean {
  const wanted = parseMailbox(address);
  return wanted !== undefined && mailboxes.some((mailbox) => addressKey(mailbox) === addressKey(wanted));
}

const list = (mailboxes: Mailbox[]) =>
  mailboxes
    .slice(0, 5)
    .map(({ address }) => address)
    .join(", ") || "(none)";
