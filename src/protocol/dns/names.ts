import { domainToASCII } from "node:url";
import { isIP } from "node:net";
import { DnsSyntaxError } from "./syntax-error.ts";

/** Of a name in text, without its last dot (RFC 1035 2.3.4: 255 octets on the wire). */
export const MAX_NAME = 253;
const LABEL = /^[a-z0-9_/]([a-z0-9_/-]{0,61}[a-z0-9_/])?$/;
const HOST_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A name as it is kept and compared: A-labels in lower case, no dot at the end; "" is the root. Underscores are allowed
 * (RFC 8552), slashes too (RFC 2317), and `*` as the first label (RFC 4592). Throws DnsSyntaxError.
 */
export function normalName(text: string): string {
  if (text === ".") return "";
  const labels = text.replace(/\.$/, "").split(".").map(toALabel);
  for (const [index, label] of labels.entries()) {
    if (label === "*" && index === 0) continue;
    if (label === "") throw new DnsSyntaxError("a label of the name is empty");
    if (label.length > 63) throw new DnsSyntaxError("a label of the name is longer than 63 octets");
    if (!LABEL.test(label))
      throw new DnsSyntaxError(
        `the label ${JSON.stringify(label)} of the name may hold letters, digits, "-" and "_" only`,
      );
  }
  const name = labels.join(".");
  if (name.length > MAX_NAME) throw new DnsSyntaxError(`the name is longer than ${MAX_NAME} octets`);
  return name;
}

// Label by label: asked about a whole name, domainToASCII takes 010.1 for an IPv4 address.
function toALabel(label: string): string {
  if (/^[\x21-\x7e]*$/.test(label)) return label.toLowerCase();
  const ascii = domainToASCII(label);
  if (ascii === "" || ascii.includes("."))
    throw new DnsSyntaxError(`the label ${JSON.stringify(label)} is no internationalised domain label (RFC 5891)`);
  return ascii;
}

/** A name of a host, as a record points to it: neither an address nor a wildcard. The root (RFC 7505, RFC 2782) only where `root` allows it. */
export function normalHost(text: string, { root = false } = {}): string {
  if (isIP(text.replace(/\.$/, "")) !== 0) throw new DnsSyntaxError("it is an IP address, a host name is needed");
  const name = normalName(text);
  if (name === "" && !root) throw new DnsSyntaxError("it is the root, a host name is needed");
  if (name.startsWith("*")) throw new DnsSyntaxError("it is a wildcard, a host name is needed");
  return name;
}

/** A domain that somebody registers or is given: at least two labels of letters, digits and hyphens, the last no number (RFC 3696 2). */
export function normalDomain(text: string): string {
  const name = normalName(text.trim());
  const labels = name.split(".");
  if (labels.length < 2) throw new DnsSyntaxError("it is a top-level domain");
  if (!labels.every((label) => HOST_LABEL.test(label)))
    throw new DnsSyntaxError("it may hold letters, digits and hyphens only");
  if (!/^([a-z]{2,}|xn--[a-z0-9-]+)$/.test(labels.at(-1)!))
    throw new DnsSyntaxError(`no top-level domain is called ${JSON.stringify(labels.at(-1))}`);
  return name;
}

/** `name` is `zone` or below it; both normal. */
export const isWithin = (name: string, zone: string): boolean => name === zone || name.endsWith(`.${zone}`);

/** The names above, nearest first, without the root. */
export const ancestors = (name: string): string[] => {
  const labels = name.split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
};
