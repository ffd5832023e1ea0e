import type { MailRoute } from "../messages/index.ts";

/** DNS status of a name, as shown by the API. */
export type RoutingStatus = "ready" | "unconfigured" | "misconfigured" | "misconfigured/locked" | "unlocked";

export interface RoutingSettings {
  /** Id of the zone. */
  id: string;
  account: string;
  /** The zone's name. */
  name: string;
  /** State of the zone's own name. */
  enabled: boolean;
  status: RoutingStatus;
  skipWizard: boolean;
  /** True if `user+tag` falls back to the rule of `user`. */
  supportSubaddress: boolean;
  /** Epoch milliseconds, like all times in this file. */
  createdAt: number;
  modifiedAt: number;
  subdomains: RoutedName[];
}

/** A routed name under the zone's own name. */
export interface RoutedName {
  id: string;
  name: string;
  enabled: boolean;
  status: RoutingStatus;
}

/**
 * A glob (`sales-*@example.com`) or a regular expression in RE2 syntax that matches the whole address
 * case-insensitively. Extension: needs `email.extended_rules`.
 */
export interface PatternMatcher {
  type: "glob" | "regex";
  field: "to";
  value: string;
}
export type Matcher = { type: "literal"; field: "to"; value: string } | PatternMatcher | { type: "all" };
/**
 * A forward has one verified address, or several with `email.extended_rules`. The value of a worker action is the
 * script name.
 */
export type RuleAction = { type: "forward" | "worker"; value: string[] } | { type: "drop" };
export type RuleSource = "api" | "wrangler";

export interface Rule {
  id: string;
  zone: string;
  account: string;
  name: string;
  enabled: boolean;
  /** True while its destination address is unverified; the rule becomes enabled after verification. */
  awaiting: boolean;
  /** Lower values come first. */
  priority: number;
  matcher: Matcher;
  action: RuleAction;
  source: RuleSource;
  /** Stable id of the worker whose configuration file contains the rule; null for source `api`. */
  owner: string | null;
  createdAt: number;
  modifiedAt: number;
}

/** An unvalidated rule from a caller. */
export interface RuleRequest {
  name?: string | undefined;
  enabled?: boolean | undefined;
  priority?: number | undefined;
  matchers: { type: string; field?: string | undefined; value?: string | undefined }[];
  actions: { type: string; value?: string[] | undefined }[];
  source?: string | undefined;
  owner?: string | undefined;
}

/** Why a recipient has its route. */
export type RouteReason =
  /** A rule for exactly this recipient matches. */
  | "literal"
  /** A rule for the recipient without its tag matches. */
  | "subaddress"
  /** A glob or a regular expression matches the recipient. */
  | "pattern"
  | "catch-all"
  /** RFC 5321 4.5.1: postmaster is always accepted, and abuse if the operator has set an address. */
  | "postmaster"
  /** The rule's worker does not exist: the sender should retry. */
  | "worker missing"
  | "no rule"
  /** This server does not receive mail for the domain. */
  | "not our domain"
  | "not an address";

export type Resolution = MailRoute & {
  why: RouteReason;
  zone?: string;
  account?: string;
  rule?: { id: string; name: string };
  /** True if the reason may be temporary: the rejection is a 4xx reply. */
  temporary?: true;
};
