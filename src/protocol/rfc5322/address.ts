import { domainToASCII } from "node:url";
import { tokenize, type AddressToken } from "./address-tokens.ts";

/** One mailbox of an address list (RFC 5322 3.4). */
export interface Mailbox {
  /** Display name without quotes; "" if there is none. */
  name: string;
  /**
   * `local@domain` as on the wire: the domain in lower case and ASCII (A-labels), the local part quoted only if
   * required.
   */
  address: string;
  local: string;
  domain: string;
}

/** Almost every address is of this form: an unquoted ASCII local part and an ASCII domain. It needs no tokens. */
const PLAIN_ADDRESS =
  /^([\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*)@([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)$/;

/**
 * Parses the content of From, To, Cc, Bcc and Reply-To. Supports mailboxes and groups (which are flattened), comments,
 * quoted names and local parts, and internationalised names, local parts (RFC 6532) and domains. Undefined if the text
 * is not an address list. Skips empty list elements (RFC 5322 4.4).
 */
export function parseAddressList(text: string): Mailbox[] | undefined {
  const plain = PLAIN_ADDRESS.exec(text);
  if (plain !== null) {
    const mailbox = plainMailbox(plain);
    return mailbox && [mailbox];
  }
  const tokens = tokenize(text);
  if (!tokens) return undefined;
  const foundMailboxes: Mailbox[] = [];
  let isInGroup = false;
  for (let at = 0; at < tokens.length;) {
    const stop = phraseEnd(tokens, at);
    const kind = tokens[stop]?.kind;
    if (kind === ":") {
      if (isInGroup || stop === at) return undefined;
      isInGroup = true;
      at = stop + 1;
      continue;
    }
    const element = readMailbox(tokens, at, stop);
    if (!element) return undefined;
    if (element.mailbox) foundMailboxes.push(element.mailbox);
    const next = tokens[element.end]?.kind;
    if (next === ";") {
      if (!isInGroup) return undefined;
      isInGroup = false;
    } else if (next !== "," && next !== undefined) return undefined;
    at = element.end + 1;
  }
  return isInGroup ? undefined : foundMailboxes;
}

/** Parses exactly one mailbox: `a@b`, `Name <a@b>`, `"Name, with comma" <a@b>`. */
export function parseMailbox(text: string): Mailbox | undefined {
  const list = parseAddressList(text);
  return list?.length === 1 ? list[0] : undefined;
}

/** Parses a bare `local@domain`, without a name, brackets, comments or white space. */
export function parseAddress(text: string): Mailbox | undefined {
  const plain = PLAIN_ADDRESS.exec(text);
  if (plain !== null) return plainMailbox(plain);
  const tokens = tokenize(text);
  if (!tokens || tokens.some((token) => token.spaced) || /[\s()<>]$/.test(text)) return undefined;
  const read = readAddrSpec(tokens, 0);
  return read && read.end === tokens.length ? mailboxOf("", read.local, read.domain) : undefined;
}

/**
 * Returns the key for comparing addresses. Domains are case-insensitive (RFC 5321 2.4), and so are local parts in
 * practice.
 */
export const addressKey = ({ local, domain }: Pick<Mailbox, "local" | "domain">): string =>
  `${local.toLowerCase()}@${domain.toLowerCase()}`;

export function isSameMailAddress(a: string, b: string): boolean {
  const [left, right] = [parseMailbox(a), parseMailbox(b)];
  return left !== undefined && right !== undefined && addressKey(left) === addressKey(right);
}

/** Domain of an envelope address; "" for the null sender. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1).toLowerCase();

function phraseEnd(tokens: AddressToken[], from: number): number {
  let at = from;
  while (tokens[at]?.kind === "atom" || tokens[at]?.kind === "quoted" || tokens[at]?.kind === ".") at++;
  return at;
}

function readMailbox(
  tokens: AddressToken[],
  from: number,
  stop: number,
): { mailbox?: Mailbox; end: number } | undefined {
  const kind = tokens[stop]?.kind;
  if (kind === "<") return readAngle(tokens, from, stop);
  if (kind === "@") {
    const read = readAddrSpec(tokens, from);
    const mailbox = read && mailboxOf("", read.local, read.domain);
    return mailbox && { mailbox, end: read.end };
  }
  return stop === from ? { end: stop } : undefined;
}

function readAngle(tokens: AddressToken[], from: number, open: number): { mailbox: Mailbox; end: number } | undefined {
  let at = open + 1;
  // RFC 5322 4.4: an obsolete source route "@relay,@relay:" is accepted and dropped.
  if (tokens[at]?.kind === "@") {
    while (tokens[at] && tokens[at]!.kind !== ":" && tokens[at]!.kind !== ">") at++;
    if (tokens[at]?.kind !== ":") return undefined;
    at++;
  }
  const read = readAddrSpec(tokens, at);
  if (!read || tokens[read.end]?.kind !== ">") return undefined;
  const mailbox = mailboxOf(phraseText(tokens.slice(from, open)), read.local, read.domain);
  return mailbox && { mailbox, end: read.end + 1 };
}

function readAddrSpec(
  tokens: AddressToken[],
  from: number,
): { local: string; domain: string; end: number } | undefined {
  const at = phraseEnd(tokens, from);
  if (tokens[at]?.kind !== "@") return undefined;
  const local = dottedText(tokens.slice(from, at));
  if (local === undefined) return undefined;
  if (tokens[at + 1]?.kind === "literal") return { local, domain: tokens[at + 1]!.text, end: at + 2 };
  const end = phraseEnd(tokens, at + 1);
  const parts = tokens.slice(at + 1, end);
  if (parts.some((token) => token.kind === "quoted")) return undefined;
  const domain = dottedText(parts);
  return domain === undefined ? undefined : { local, domain, end };
}

/** Parses `word *("." word)`; RFC 5322 4.4 allows white space around the dots, but not two adjacent words. */
function dottedText(tokens: AddressToken[]): string | undefined {
  if (tokens.length % 2 === 0) return undefined;
  const isDotJoined = tokens.every((token, i) => (token.kind === ".") === (i % 2 === 1));
  return isDotJoined ? tokens.map((token) => token.text).join("") : undefined;
}

const phraseText = (tokens: AddressToken[]) =>
  tokens
    .map((token, i) => (token.spaced && i > 0 ? " " : "") + token.text)
    .join("")
    .trim();

/** RFC 5321 4.5.3.1.3: a path has at most 256 octets, including the angle brackets. */
const MAX_ADDRESS_LENGTH = 254;

function mailboxOf(name: string, local: string, rawDomain: string): Mailbox | undefined {
  const domain = canonicalDomain(rawDomain);
  if (domain === undefined || local === "" || hasControl(local)) return undefined;
  const address = `${quoteLocal(local)}@${domain}`;
  return Buffer.byteLength(address) > MAX_ADDRESS_LENGTH ? undefined : { name, address, local, domain };
}

/** `plain`: a match of PLAIN_ADDRESS, whose local part needs no quotes and no further checks. */
function plainMailbox([, local = "", rawDomain = ""]: RegExpExecArray): Mailbox | undefined {
  const domain = canonicalDomain(rawDomain);
  if (domain === undefined || local.length + 1 + domain.length > MAX_ADDRESS_LENGTH) return undefined;
  return { name: "", address: `${local}@${domain}`, local, domain };
}

const hasControl = (text: string) => /\p{Cc}/u.test(text);

/** RFC 5321 4.1.2: a local part needs quotes only if it is not a dot-string. */
function quoteLocal(local: string): string {
  if (/^[\w!#$%&'*+\-/=?^`{|}~\u0080-\uffff]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u0080-\uffff]+)*$/.test(local)) return local;
  return `"${local.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Converts a domain to lower case and A-labels, where each label may contain letters, digits, hyphens and underscores;
 * address literals are unchanged.
 */
export function canonicalDomain(domain: string): string | undefined {
  if (domain.startsWith("["))
    return /^\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[0-9a-f:.]{2,45})\]$/i.test(domain) ? domain : undefined;
  // oxlint-disable-next-line no-control-regex -- the ASCII range.
  const ascii = /^[\x00-\x7f]*$/.test(domain) ? domain.toLowerCase() : domainToASCII(domain);
  if (ascii === "" || ascii.length > 253) return undefined;
  return ascii.split(".").every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label)) ? ascii : undefined;
}
