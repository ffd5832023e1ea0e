import { isIPv4, isIPv6 } from "../../kernel/networks.ts";
import { quote } from "./octets.ts";
import { DnsSyntaxError } from "./syntax-error.ts";
import { splitWords, type MasterFileToken } from "./tokens.ts";

const KEY_PATTERN =
  /^(mandatory|alpn|no-default-alpn|port|ipv4hint|ech|ipv6hint|dohpath|ohttp|tls-supported-groups|key\d{1,5})$/;

/**
 * Returns service parameters for HTTPS and SVCB (RFC 9460 2.1) in canonical form: each key once, with quoted values.
 */
export function normalizeParams(value: unknown): string {
  if (value === undefined || value === "") return "";
  if (typeof value !== "string") throw new DnsSyntaxError("it must be a string");
  return presentParams(splitWords(value));
}

export function presentParams(tokens: MasterFileToken[]): string {
  const seen = new Set<string>();
  return tokens
    .map(({ text }) => {
      const [key, value] = splitParam(text);
      if (!KEY_PATTERN.test(key))
        throw new DnsSyntaxError(
          `${JSON.stringify(key)} is not a service parameter: unregistered ones are written as keyNNNNN`,
        );
      if (seen.has(key)) throw new DnsSyntaxError(`duplicate service parameter ${key}`);
      seen.add(key);
      checkValue(key, value);
      return value === undefined ? key : `${key}=${quote(value)}`;
    })
    .join(" ");
}

function splitParam(text: string): [string, string | undefined] {
  const at = text.indexOf("=");
  return at === -1 ? [text.toLowerCase(), undefined] : [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
}

function checkValue(key: string, value: string | undefined): void {
  const list = value?.split(",") ?? [];
  const syntaxErrorOf = (requirement: string) =>
    new DnsSyntaxError(`the service parameter ${key} requires ${requirement}`);
  if (key === "no-default-alpn" && value !== undefined) throw syntaxErrorOf("no value");
  if (key === "port" && !(value !== undefined && /^\d{1,5}$/.test(value) && Number(value) <= 65_535))
    throw syntaxErrorOf("a port from 0 to 65535");
  if (key === "ipv4hint" && !(list.length > 0 && list.every(isIPv4)))
    throw syntaxErrorOf("IPv4 addresses, joined by commas");
  if (key === "ipv6hint" && !(list.length > 0 && list.every(isIPv6)))
    throw syntaxErrorOf("IPv6 addresses, joined by commas");
  if ((key === "alpn" || key === "mandatory") && !(list.length > 0 && list.every((item) => item !== "")))
    throw syntaxErrorOf("names, joined by commas");
  if (key === "ech" && !(value !== undefined && /^[A-Za-z0-9+/]+={0,2}$/.test(value))) throw syntaxErrorOf("base64");
}
