import { isAscii } from "node:buffer";
import type { DsnRequest } from "../messages/index.ts";

/** For whoever reads the header: whom the message came for, and where it was sent on to. Addresses beyond ASCII would make it a message that few servers take (RFC 6531). */
export function traceFields(rcpt: string, to: readonly string[]): string {
  const fits = (value: string) => /^[!-~]{1,320}( [!-~]{1,320})*$/.test(value) && value.length <= MAX_VALUE;
  const [destination, both] = [to.join(", "), `${rcpt} ${to.join(", ")}`];
  return `${fits(destination) ? `X-Forwarded-To: ${destination}\r\n` : ""}${fits(both) ? `X-Forwarded-For: ${both}\r\n` : ""}`;
}

/** RFC 5322 2.1.1. */
const MAX_VALUE = 900;

/** What the sender wants to be told, for the next hop: the wishes of one recipient go to all it leads to (RFC 3461 5.2.7), and it is named as the sender knows it. */
export function passedOn(dsn: DsnRequest | undefined, rcpt: string, to: readonly string[]): DsnRequest | undefined {
  if (dsn === undefined) return undefined;
  const { to: wishes, ...message } = dsn;
  const wish = wishes?.[rcpt];
  const named = wish && { orcpt: `${isAscii(Buffer.from(rcpt)) ? "rfc822" : "utf-8"};${rcpt}`, ...wish };
  return { ...message, ...(named && { to: Object.fromEntries(to.map((one) => [one, named])) }) };
}
