import type { Route } from "../messages/index.ts";

/** What an API shows of the DNS of a name. */
export type RoutingStatus = "ready" | "unconfigured" | "misconfigured" | "misconfigured/locked" | "unlocked";

export interface RoutingSettings {
  /** The zone's id. */
  id: string;
  account: string;
  /** The zone's name. */
  name: string;
  /** Of the zone's own name. */
  enabled: boolean;
  status: RoutingStatus;
  skipWizard: boolean;
  /** Whether `user+tag` falls back to the rule of `user`. */
  supportSubaddress: boolean;
  /** Epoch milliseconds, as all times here. */
  createdAt: number;
  modifiedAt: number;
  subdomains: RoutedName[];
}

/** A name below the zone's own that mail is routed for. */
export interface RoutedName {
  id: string;
  name: string;
  enabled: boolean;
  status: RoutingStatus;
}

/** A glob (`sales-*@example.com`) or a regular expression in RE2 syntax that matches the whole address case-insensitively. Extension: needs `email.extended_rules`. */
export interface PatternMatcher {
  type: "glob" | "regex";
  field: "to";
  value: string;
}
export type Matcher = { type: "literal"; field: "to"; value: string } | PatternMatcher | { type: "all" };
/** A forward has one verified address, or several with `email.extended_rules`. A worker action has the script name. */
export type Action = { type: "forward" | "worker"; value: string[] } | { type: "drop" };
export type RuleSource = "api" | "wrangler";

export interface Rule {
  id: string;
  zone: string;
  account: string;
  name: string;
  enabled: boolean;
  /** Becomes enabled when its destination address is verified. */
  awaiting: boolean;
  /** The lower, the earlier. */
  priority: number;
  matcher: Matcher;
  action: Action;
  source: RuleSource;
  /** Stable id of the worker whose configuration file has the rule; null for source `api`. */
  owner: string | null;
  createdAt: number;
  modifiedAt: number;
}

/** What a caller asks a rule to be; nothing in it is checked. */
export interface RuleRequest {
  name?: string | undefined;
  enabled?: boolean | undefined;
  priority?: number | undefined;
  matchers: { type: string; field?: string | undefined; value?: string | undefined }[];
  actions: { type: string; value?: string[] | undefined }[];
  source?: string | undefined;
  owner?: string | undefined;
}

/** Why a recipient goes where it goes. */
export type Why =
  /** A rule names the recipient. */
  | "literal"
  /** A rule names the recipient without its tag. */
  | "subaddress"
  /** A glob or a regular expression matches the recipient. */
  | "pattern"
  | "catch-all"
  /** RFC 5321 4.5.1: postmaster is always taken; abuse where the operator has an address. */
  | "postmaster"
  /** The rule's worker is not there: the sender is to come again. */
  | "worker missing"
  | "no rule"
  /** Mail for this domain is not for this server. */
  | "not our domain"
  | "not an address";

export type Resolution = Route & {
  why: Why;
  zone?: string;
  account?: string;
  rule?: { id: string; name: string };
  /** What is known now may be over soon: the refusal is a temporary one (4xx). */
  temporary?: true;
};
