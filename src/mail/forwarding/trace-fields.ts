import { isAscii } from "node:buffer";
import type { DsnRequest } from "../messages/index.ts";

/**
 * Fields for people who read the header: the original recipient and the forward destinations. Non-ASCII addresses are
 * omitted, because few servers accept messages that contain them (RFC 6531).
 */
export function traceFields(rcpt: string, to: readonly string[]): string {
  const isSafeValue = (value: string) =>
    /^[!-~]{1,320}( [!-~]{1,320})*$/.test(value) && value.length <= MAX_VALUE_LENGTH;
  const [destination, destinationWithRcpt] = [to.join(", "), `${rcpt} ${to.join(", ")}`];
  return `${isSafeValue(destination) ? `X-Forwarded-To: ${destination}\r\n` : ""}${isSafeValue(destinationWithRcpt) ? `X-Forwarded-For: ${destinationWithRcpt}\r\n` : ""}`;
}

/** The line length limit is that of RFC 5322 2.1.1. */
const MAX_VALUE_LENGTH = 900;

/**
 * Returns DSN parameters for the next hop: those of one recipient apply to all its destinations (RFC 3461 5.2.7), with
 * the recipient as given by the sender.
 */
export function forwardedDsn(dsn: DsnRequest | undefined, rcpt: string, to: readonly string[]): DsnRequest | undefined {
  if (dsn === undefined) return undefined;
  const { to: byRecipient, ...message } = dsn;
  const requestedDsn = byRecipient?.[rcpt];
  const rcptDsn = requestedDsn && {
    orcpt: `${isAscii(Buffer.from(rcpt)) ? "rfc822" : "utf-8"};${rcpt}`,
    ...requestedDsn,
  };
  return { ...message, ...(rcptDsn && { to: Object.fromEntries(to.map((address) => [address, rcptDsn])) }) };
}
