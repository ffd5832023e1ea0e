import { isIPv6, networkSet, parseNetwork, unmappedAddress, type NetworkSet } from "../../kernel/networks.ts";

/** An access rule in the claim `accessRules`, which determines who may use a token. */
export interface AccessRule {
  type: "any" | "ip.src" | "ip.geoip.country";
  action: "allow" | "block";
  /** ISO 3166-1 alpha-2 country codes, for `ip.geoip.country`. */
  country?: string[];
  /** Addresses and CIDR ranges, IPv4 or IPv6, for `ip.src`. */
  ip?: string[];
}

const MAX_RULES = 5;
/** Maximum number of values per rule; the maximum token length hardly allows more. */
const MAX_VALUES = 500;

type RulesReading = { ok: true; rules: AccessRule[] } | { ok: false; why: string };

/**
 * Parses the rules; an absent value means an empty list. If one rule is invalid, all are rejected: ignoring it could
 * admit viewers that it was meant to block.
 */
export function parseRules(value: unknown): RulesReading {
  if (value === undefined || value === null) return { ok: true, rules: [] };
  if (!Array.isArray(value)) return { ok: false, why: "accessRules is not a list" };
  if (value.length > MAX_RULES)
    return { ok: false, why: `accessRules has ${value.length} rules; at most ${MAX_RULES} are allowed` };
  const rules: AccessRule[] = [];
  for (const [i, each] of value.entries()) {
    const rule = parseRule(each);
    if (typeof rule === "string") return { ok: false, why: `accessRules[${i}]${rule}` };
    rules.push(rule);
  }
  return { ok: true, rules };
}

/** Returns the rule, or the error text. */
function parseRule(value: unknown): AccessRule | string {
  if (typeof value !== "object" || value === null) return " is not an object";
  const { type, action, country, ip } = value as Record<string, unknown>;
  if (action !== "allow" && action !== "block") return ".action is neither allow nor block";
  if (type === "any") return { type, action };
  if (type === "ip.src") {
    const givenTexts = textsOf(ip);
    if (givenTexts === undefined) return ".ip is not a list of addresses";
    const badIndex = givenTexts.findIndex((each) => parseNetwork(each) === undefined);
    return badIndex < 0
      ? { type, action, ip: givenTexts }
      : `.ip[${badIndex}] is neither an IP address nor a range in CIDR notation`;
  }
  if (type === "ip.geoip.country") {
    const given = textsOf(country);
    if (given === undefined) return ".country is not a list of country codes";
    const bad = given.findIndex((each) => !/^[a-z][a-z0-9]$/i.test(each));
    return bad < 0
      ? { type, action, country: given.map((each) => each.toUpperCase()) }
      : `.country[${bad}] is not a two-letter country code`;
  }
  return ".type is not any, ip.src or ip.geoip.country";
}

/** Returns a list with at least one text; with an empty list the rule would never match. */
function textsOf(value: unknown): string[] | undefined {
  const list = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_VALUES) return undefined;
  return list.every((each): each is string => typeof each === "string") ? list : undefined;
}

interface RuleViewer {
  ip: string;
  /** Country of the viewer, requested only if a rule needs it. Undefined if unknown, in which case it is in no list. */
  country(): string | undefined;
}

export type RuleEvaluator = (viewer: RuleViewer) => "allow" | "block";

/** Compiles the rules: the first matching rule applies, and viewers without a match are allowed. */
export function compileRules(rules: readonly AccessRule[]): RuleEvaluator {
  const matchers = rules.map((rule) => ({ action: rule.action, matches: matcherOf(rule) }));
  return (viewer) => matchers.find(({ matches }) => matches(viewer))?.action ?? "allow";
}

function matcherOf({ type, country, ip }: AccessRule): (viewer: RuleViewer) => boolean {
  if (type === "any") return () => true;
  if (type === "ip.src") {
    const isInRanges = addressMatcher(ip ?? []);
    return (viewer) => isInRanges(viewer.ip);
  }
  const codes = new Set(country);
  return (viewer) => {
    const code = viewer.country();
    return code !== undefined && codes.has(code);
  };
}

/** Ranges contain only addresses of their own family: `::/0` matches all IPv6 viewers and no IPv4 viewers. */
function addressMatcher(ranges: readonly string[]): NetworkSet {
  const createRangeError = (range: string) => new TypeError(`not a range: ${range}`);
  const plainRanges = ranges.map(unmapRange);
  const ipv4Set = networkSet(
    plainRanges.filter((range) => !range.includes(":")),
    createRangeError,
  );
  const ipv6Set = networkSet(
    plainRanges.filter((range) => range.includes(":")),
    createRangeError,
  );
  return (ip) => (isIPv6(unmappedAddress(ip)) ? ipv6Set(ip) : ipv4Set(ip));
}

/** Converts IPv4-mapped IPv6 (RFC 4291 2.5.5.2) to IPv4, in the same way as viewer addresses. */
function unmapRange(range: string): string {
  const [, address, digits] = /^::ffff:(\d+\.[\d.]+)(?:\/(\d+))?$/i.exec(range) ?? [];
  const prefix = digits === undefined ? 32 : Number(digits) - 96;
  return address === undefined || prefix < 0 ? range : `${address}/${prefix}`;
}
