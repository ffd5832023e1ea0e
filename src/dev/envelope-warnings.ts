import { headerValues, parseAddressList, sameAddress } from "../protocol/rfc5322/index.ts";
import type { InboundMail } from "../workers/index.ts";

/**
 * Envelope and header say who a message is from and for independently of each other (RFC 5321 3.3). In real mail they often differ;
 * in a test they mostly do by mistake, and the worker sees the envelope in `message.from` and `message.to`. Reports of a delivery have
 * no sender in the envelope, as they must (RFC 5321 4.5.5).
 */
export function envelopeWarnings({ from, to, headers }: Pick<InboundMail, "from" | "to" | "headers">): string[] {
  const warnings: string[] = [];
  const inFrom = addressesOf(headers, "from");
  const inTo = [...addressesOf(headers, "to"), ...addressesOf(headers, "cc")];
  if (from !== "" && !inFrom.some((address) => sameAddress(address, from)))
    warnings.push(`MAIL FROM <${from}> is not the address of the From header: ${list(inFrom)}`);
  if (!inTo.some((address) => sameAddress(address, to)))
    warnings.push(`RCPT TO <${to}> is none of the addresses of the To and Cc headers: ${list(inTo)}`);
  return warnings;
}

const addressesOf = (headers: InboundMail["headers"], name: string) =>
  headerValues(headers, name).flatMap((value) => (parseAddressList(value) ?? []).map(({ address }) => address));

const list = (addresses: string[]) => (addresses.length === 0 ? "(none)" : addresses.slice(0, 5).join(", "));
