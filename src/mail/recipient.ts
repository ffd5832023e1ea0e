import { canonicalDomain, parseAddress } from "../protocol/rfc5322/index.ts";

/** A recipient in normalized form, for comparison. */
export interface Recipient {
  /** The local part without quotes, in lower case. */
  local: string;
  /** The domain as A-labels in lower case; "" for the bare `postmaster` (RFC 5321 4.1.1.3). */
  domain: string;
}

const PLAIN_LOCAL = /^[\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*$/;
const PLAIN_DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const MAX_ADDRESS_LENGTH = 254;

/**
 * Parses an envelope recipient. Local parts are case-insensitive, as in practically every mail system (RFC 5321 2.4
 * would let a domain distinguish `Bob` from `bob`), dots in them are ordinary characters, and those of RFC 6531 are
 * compared in normalization form C.
 */
export function readRecipient(text: string): Recipient | undefined {
  const at = text.lastIndexOf("@");
  if (at === -1) return text.toLowerCase() === "postmaster" ? { local: "postmaster", domain: "" } : undefined;
  if (text.length > MAX_ADDRESS_LENGTH) return undefined;
  const [local, domain] = [text.slice(0, at), text.slice(at + 1).toLowerCase()];
  // Fast path for nearly all addresses; the full grammar takes a hundred times as long.
  if (PLAIN_LOCAL.test(local) && PLAIN_DOMAIN.test(domain)) return { local: local.toLowerCase(), domain };
  const parsedAddress = parseAddress(text);
  const canonical = parsedAddress && canonicalDomain(parsedAddress.domain);
  return canonical === undefined
    ? undefined
    : { local: parsedAddress!.local.normalize("NFC").toLowerCase(), domain: canonical };
}

/** Returns a key shared by all spellings of an address. */
export const recipientKey = ({ local, domain }: Recipient): string => `${local}@${domain}`;

/** Returns the address without its tag: `user` for `user+tag` (RFC 5233). Undefined if it does not have a tag. */
export function removeTag({ local, domain }: Recipient): Recipient | undefined {
  const plus = local.indexOf("+");
  return plus > 0 ? { local: local.slice(0, plus), domain } : undefined;
}
