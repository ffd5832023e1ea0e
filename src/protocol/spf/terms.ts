import { isIP } from "../../kernel/networks.ts";

type SpfQualifier = "pass" | "neutral" | "fail" | "soft_fail";
type SpfTermType = "ALL" | "A" | "MX" | "IP4" | "IP6" | "EXISTS" | "INCLUDE" | "PTR" | "REDIRECT";

export interface ParsedSpfTerm {
  type: SpfTermType;
  /** Value as in the record, with its qualifier; for IP4 and IP6 only the address. */
  value: string;
  result: SpfQualifier;
  /** Number of lookups for the term itself (RFC 7208 4.6.4). */
  lookups: number;
  /** The domain whose record INCLUDE and REDIRECT evaluate. */
  target?: string;
}

/** Maximum number of lookups (RFC 7208 4.6.4). */
export const MAX_SPF_LOOKUPS = 10;

const QUALIFIERS: Record<string, SpfQualifier> = { "+": "pass", "?": "neutral", "-": "fail", "~": "soft_fail" };
const MECHANISM = /^([+?~-]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?:([:/])(.*))?$/i;
const TYPES_NEEDING_VALUE = new Set(["include", "ip4", "ip6", "exists"]);

/** Returns the words of a record after its version. */
export const spfTerms = (record: string): string[] =>
  record
    .split(/ +/)
    .slice(1)
    .filter((word) => word !== "");

/**
 * Parses one word of a record. "modifier": a modifier that evaluators may ignore (RFC 7208 6). Undefined for a syntax
 * error, which makes the result for the whole record permerror (RFC 7208 4.6).
 */
export function parseSpfTerm(word: string): ParsedSpfTerm | "modifier" | undefined {
  const [, modifier, target] = /^([a-z][a-z0-9_.-]*)=(.*)$/i.exec(word) ?? [];
  if (modifier?.toLowerCase() === "redirect")
    return target === "" ? undefined : { type: "REDIRECT", value: word, result: "pass", lookups: 1, target: target! };
  if (modifier !== undefined) return "modifier";
  const [, qualifier = "", mechanism, separator, rest = ""] = MECHANISM.exec(word) ?? [];
  if (mechanism === undefined) return undefined;
  const name = mechanism.toLowerCase();
  if ((separator === undefined || separator === "/" || rest === "") && TYPES_NEEDING_VALUE.has(name)) return undefined;
  if (name === "all" && separator !== undefined) return undefined;
  const type = name.toUpperCase() as SpfTermType;
  const result = QUALIFIERS[qualifier === "" ? "+" : qualifier]!;
  if (name === "ip4" || name === "ip6")
    return isNetwork(rest, name) ? { type, value: `${qualifier}${rest}`, result, lookups: 0 } : undefined;
  return { type, value: word, result, lookups: name === "all" ? 0 : 1, ...(name === "include" && { target: rest }) };
}

function isNetwork(text: string, family: "ip4" | "ip6"): boolean {
  const [address, length, ...more] = text.split("/");
  const [version, bits] = family === "ip4" ? [4, 32] : [6, 128];
  return (
    more.length === 0 &&
    isIP(address!) === version &&
    (length === undefined || (/^(0|[1-9]\d{0,2})$/.test(length) && Number(length) <= bits))
  );
}
