import { domainToASCII } from "node:url";
import { isIP } from "../../kernel/networks.ts";
import { DnsSyntaxError } from "./syntax-error.ts";

/** Maximum length of a name as text, without the final dot (RFC 1035 2.3.4: 255 octets on the wire). */
export const MAX_NAME_LENGTH = 253;
const LABEL_PATTERN = /^[a-z0-9_/]([a-z0-9_/-]{0,61}[a-z0-9_/])?$/;
const HOST_LABEL_PATTERN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns a name in the form in which it is stored and compared: A-labels in lower case, no final dot; "" is the root.
 * Underscores (RFC 8552), slashes (RFC 2317), and `*` as the first label (RFC 4592) are allowed. Throws DnsSyntaxError.
 */
export function normalizeName(text: string): string {
  if (text === ".") return "";
  const labels = text.replace(/\.$/, "").split(".").map(toALabel);
  for (const [index, label] of labels.entries()) {
    if (label === "*" && index === 0) continue;
    if (label === "") throw new DnsSyntaxError("a label of the name is empty");
    if (label.length > 63) throw new DnsSyntaxError("a label of the name is longer than 63 octets");
    if (!LABEL_PATTERN.test(label))
      throw new DnsSyntaxError(
        `the label ${JSON.stringify(label)} of the name may contain only letters, digits, "-" and "_"`,
      );
  }
  const name = labels.join(".");
  if (name.length > MAX_NAME_LENGTH) throw new DnsSyntaxError(`the name is longer than ${MAX_NAME_LENGTH} octets`);
  return name;
}

// Converts label by label: domainToASCII would read the whole name 010.1 as an IPv4 address.
function toALabel(label: string): string {
  if (/^[\x21-\x7e]*$/.test(label)) return label.toLowerCase();
  const ascii = domainToASCII(label);
  if (ascii === "" || ascii.includes("."))
    throw new DnsSyntaxError(`the label ${JSON.stringify(label)} is not an internationalized domain label (RFC 5891)`);
  return ascii;
}

/**
 * Normalizes a host name that is the target of a record: neither an address nor a wildcard. The root (RFC 7505, RFC
 * 2782) is accepted only if `root` is true.
 */
export function normalizeHost(text: string, { root = false } = {}): string {
  if (isIP(text.replace(/\.$/, "")) !== 0) throw new DnsSyntaxError("it is an IP address, not a host name");
  const name = normalizeName(text);
  if (name === "" && !root) throw new DnsSyntaxError("it is the root, not a host name");
  if (name.startsWith("*")) throw new DnsSyntaxError("it is a wildcard, not a host name");
  return name;
}

/**
 * Normalizes a domain that can be registered or delegated: at least two labels of letters, digits and hyphens, the last
 * one not a number (RFC 3696 2).
 */
export function normalizeDomain(text: string): string {
  const name = normalizeName(text.trim());
  const labels = name.split(".");
  if (labels.length < 2) throw new DnsSyntaxError("it is a top-level domain");
  if (!labels.every((label) => HOST_LABEL_PATTERN.test(label)))
    throw new DnsSyntaxError("it may contain only letters, digits and hyphens");
  if (!/^([a-z]{2,}|xn--[a-z0-9-]+)$/.test(labels.at(-1)!))
    throw new DnsSyntaxError(`${JSON.stringify(labels.at(-1))} is not a top-level domain`);
  return name;
}

/** Returns true if `name` is `zone` or a name under it. Both must be in normal form. */
export const isWithin = (name: string, zone: string): boolean => name === zone || name.endsWith(`.${zone}`);

/** Parent names, nearest first, without the root. */
export const ancestors = (name: string): string[] => {
  const labels = name.split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
};
