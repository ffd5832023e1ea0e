import { recipientKey, removeTag, type Recipient } from "../recipient.ts";
import { compilePattern, isPattern } from "./patterns.ts";
import { targetOf } from "./rules-table.ts";
import type { Rule, RouteReason } from "./types.ts";

/** The rules of one zone, prepared for lookup. */
export interface MatchTable {
  zone: { id: string; account: string; name: string };
  supportSubaddress: boolean;
  /** Literal rules keyed by normalized recipient; if several rules match a recipient, only the first is included. */
  literal: ReadonlyMap<string, Rule>;
  /** Pattern rules in the order of evaluation. */
  patterns: readonly { rule: Rule; matches: (address: string) => boolean }[];
  /** Undefined while the rule is disabled. */
  catchAll?: Rule;
}

/** Builds the lookup table. `rules` are in the order of evaluation; disabled rules are skipped. */
export function matchTable(zone: MatchTable["zone"], supportSubaddress: boolean, rules: readonly Rule[]): MatchTable {
  const literalRules = new Map<string, Rule>();
  const patterns: MatchTable["patterns"][number][] = [];
  let catchAll: Rule | undefined;
  for (const rule of rules) {
    if (!rule.enabled) continue;
    const target = targetOf(rule.matcher);
    if (isPattern(rule.matcher)) patterns.push({ rule, matches: compilePattern(rule.matcher, zone.name) });
    else if (target === null) catchAll ??= rule;
    else if (!literalRules.has(target)) literalRules.set(target, rule);
  }
  return { zone, supportSubaddress, literal: literalRules, patterns, ...(catchAll && { catchAll }) };
}

interface Match {
  rule: Rule;
  why: Extract<RouteReason, "literal" | "subaddress" | "pattern" | "catch-all">;
}

/**
 * Finds the rule for a recipient: literal rules, then patterns, then the catch-all rule. The catch-all rule applies
 * only to the zone's own name, not to subdomains.
 */
export function matchRecipient(
  { zone, supportSubaddress, literal: literalRules, patterns, catchAll }: MatchTable,
  recipient: Recipient,
): Match | undefined {
  const exactRule = literalRules.get(recipientKey(recipient));
  if (exactRule !== undefined) return { rule: exactRule, why: "literal" };
  const untaggedRecipient = supportSubaddress ? removeTag(recipient) : undefined;
  const taggedRule = untaggedRecipient && literalRules.get(recipientKey(untaggedRecipient));
  if (taggedRule !== undefined) return { rule: taggedRule, why: "subaddress" };
  const pattern = patterns.find(
    ({ matches }) =>
      matches(recipientKey(recipient)) || (untaggedRecipient !== undefined && matches(recipientKey(untaggedRecipient))),
  );
  if (pattern !== undefined) return { rule: pattern.rule, why: "pattern" };
  return catchAll !== undefined && recipient.domain === zone.name ? { rule: catchAll, why: "catch-all" } : undefined;
}
