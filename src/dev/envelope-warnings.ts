import { headerValues, parseAddressList, isSameMailAddress } from "../protocol/rfc5322/index.ts";
import type { InboundMail } from "../workers/index.ts";

/**
 * Compares envelope and headers, which are independent (RFC 5321 3.3). They often differ in real mail, but in a test a
 * difference is usually a mistake, and the worker sees the envelope in `message.from` and `message.to`. Delivery
 * reports have no envelope sender (RFC 5321 4.5.5).
 */
export function envelopeWarnings({ from, to, headers }: Pick<InboundMail, "from" | "to" | "headers">): string[] {
  const warnings: string[] = [];
  const fromAddresses = addressesOf(headers, "from");
  const recipientAddresses = [...addressesOf(headers, "to"), ...addressesOf(headers, "cc")];
  if (from !== "" && !fromAddresses.some((address) => isSameMailAddress(address, from)))
    warnings.push(`MAIL FROM <${from}> is not the address in the From header: ${list(fromAddresses)}`);
  if (!recipientAddresses.some((address) => isSameMailAddress(address, to)))
    warnings.push(`RCPT TO <${to}> is not in the To or Cc header: ${list(recipientAddresses)}`);
  return warnings;
}

const addressesOf = (headers: InboundMail["headers"], name: string) =>
  headerValues(headers, name).flatMap((value) => (parseAddressList(value) ?? []).map(({ address }) => address));

const list = (addresses: string[]) => (addresses.length === 0 ? "(none)" : addresses.slice(0, 5).join(", "));
