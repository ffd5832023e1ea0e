import { isIPv4, isIPv6 } from "../../kernel/networks.ts";
import { checkLocation, type Location, presentLocation, readLocation } from "./location.ts";
import { normalizeHost } from "./names.ts";
import { chunk, quote } from "./octets.ts";
import { normalizeParams, presentParams } from "./service-params.ts";
import { DnsSyntaxError } from "./syntax-error.ts";
import type { MasterFileToken } from "./tokens.ts";

export type FieldKind =
  | "u8"
  | "u16"
  | "ipv4"
  | "ipv6"
  | "host"
  | "hostOrRoot"
  | "string"
  | "text"
  | "tag"
  | "hex"
  | "base64"
  | "strings"
  | "params"
  | "location";
export type FieldValue = number | string | string[] | Location;

interface Field {
  /** Number of words that the field takes; undefined means the rest of the line. */
  wordCount: number | undefined;
  /** Reads the words of a presentation as an unvalidated value. `hostOf` makes a name absolute. */
  read(tokens: MasterFileToken[], hostOf: (token: MasterFileToken) => string): unknown;
  /** Returns the normal form of a value, or throws DnsSyntaxError. */
  check(value: unknown): FieldValue;
  /** `isAbsolute` appends a dot to names, as master files require. */
  present(value: FieldValue, isAbsolute: boolean): string;
}

const firstText = (tokens: MasterFileToken[]) => tokens[0]!.text;
const joinTexts = (tokens: MasterFileToken[]) => tokens.map(({ text }) => text).join("");
const toText = (value: FieldValue) => String(value);

export const FIELDS: Record<FieldKind, Field> = {
  u8: createIntegerField(255),
  u16: createIntegerField(65_535),
  ipv4: { wordCount: 1, read: firstText, check: checkIpv4, present: toText },
  ipv6: { wordCount: 1, read: firstText, check: checkIpv6, present: toText },
  host: host(false),
  hostOrRoot: host(true),
  string: {
    wordCount: 1,
    read: firstText,
    check: (value) => checkPrintable(value, 255),
    present: (value) => quote(value as string),
  },
  // Octets without a length prefix, up to the end of the record (RFC 8659 4.1, RFC 7553 4.5).
  text: {
    wordCount: 1,
    read: firstText,
    check: (value) => checkPrintable(value, 4096),
    present: (value) => quote(value as string),
  },
  tag: { wordCount: 1, read: firstText, check: checkTag, present: toText },
  hex: { wordCount: undefined, read: joinTexts, check: checkHex, present: toText },
  base64: { wordCount: undefined, read: joinTexts, check: checkBase64, present: toText },
  strings: {
    wordCount: undefined,
    read: (tokens) => tokens.map(({ text }) => text),
    check: checkStrings,
    present: (value) => (value as string[]).map(quote).join(" "),
  },
  params: { wordCount: undefined, read: presentParams, check: normalizeParams, present: toText },
  location: {
    wordCount: undefined,
    read: readLocation,
    check: checkLocation,
    present: (value) => presentLocation(value as Location),
  },
};

function createIntegerField(max: number): Field {
  return {
    wordCount: 1,
    read: (tokens) => (/^\d{1,6}$/.test(firstText(tokens)) ? Number(firstText(tokens)) : firstText(tokens)),
    check(value) {
      if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > max)
        throw new DnsSyntaxError(`it must be a whole number from 0 to ${max}`);
      return value;
    },
    present: toText,
  };
}

function host(root: boolean): Field {
  return {
    wordCount: 1,
    read: (tokens, hostOf) => hostOf(tokens[0]!),
    check: (value) => normalizeHost(text(value), { root }) || ".",
    present: (value, isAbsolute) => (isAbsolute && value !== "." ? `${value as string}.` : toText(value)),
  };
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new DnsSyntaxError("it must be a string");
  if (value === "") throw new DnsSyntaxError("it is empty");
  return value;
}

function checkPrintable(value: unknown, max: number): string {
  if (typeof value !== "string") throw new DnsSyntaxError("it must be a string");
  if (!/^[\x20-\x7e]*$/.test(value)) throw new DnsSyntaxError("only printable ASCII characters are allowed");
  if (value.length > max) throw new DnsSyntaxError(`it is longer than ${max} octets`);
  return value;
}

function checkIpv4(value: unknown): string {
  if (typeof value !== "string" || !isIPv4(value)) throw new DnsSyntaxError("it is not an IPv4 address");
  return value;
}

/** Returns the RFC 5952 form, so that each address has a unique spelling. */
function checkIpv6(value: unknown): string {
  if (typeof value !== "string" || !isIPv6(value) || value.includes("%"))
    throw new DnsSyntaxError("it is not an IPv6 address");
  return new URL(`http://[${value}]`).hostname.slice(1, -1);
}

function checkTag(value: unknown): string {
  const tag = text(value).toLowerCase();
  // Property tag (RFC 8659 4.1).
  if (!/^[a-z0-9]{1,255}$/.test(tag)) throw new DnsSyntaxError("a tag may contain only letters and digits");
  return tag;
}

function checkHex(value: unknown): string {
  const digits = text(value).replace(/[ \t]/g, "").toLowerCase();
  if (!/^([0-9a-f]{2})+$/.test(digits)) throw new DnsSyntaxError("it must be pairs of hexadecimal digits");
  if (digits.length > 2 * MAX_BLOB) throw new DnsSyntaxError(`it is longer than ${MAX_BLOB} octets`);
  return digits;
}

const MAX_BLOB = 16_384;

function checkBase64(value: unknown): string {
  const compactText = text(value).replace(/[ \t]/g, "");
  const bytes = Buffer.from(compactText, "base64");
  if (bytes.length === 0 || bytes.toString("base64").replace(/=+$/, "") !== compactText.replace(/=+$/, ""))
    throw new DnsSyntaxError("it must be base64");
  if (bytes.length > MAX_BLOB) throw new DnsSyntaxError(`it is longer than ${MAX_BLOB} octets`);
  return bytes.toString("base64");
}

/** Strings longer than 255 octets are split. */
function checkStrings(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every((octets) => typeof octets === "string"))
    throw new DnsSyntaxError("at least one character-string is required");
  return value.flatMap((octets) => chunk(octets));
}
