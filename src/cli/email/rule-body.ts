import type { Options } from "../command.ts";
import { commandErrors } from "../errors.ts";
import type { ApiRule } from "./routing.ts";

/** The catch-all rule has its own path in the API, with this word in place of an id. */
export const CATCH_ALL = "catch-all";

export const ruleOptions = {
  name: { type: "string", placeholder: "text", summary: "name of the rule" },
  enabled: {
    type: "string",
    placeholder: "true|false",
    choices: ["true", "false"],
    summary: "enable or disable the rule",
    defaultText: "true",
  },
  "match-type": {
    type: "string",
    placeholder: "type",
    choices: ["literal", "glob", "regex", "all"],
    summary: "matcher type; glob and regex require email.extended_rules",
    defaultText: "literal",
  },
  "match-field": {
    type: "string",
    placeholder: "field",
    choices: ["to"],
    summary: "field to match",
  },
  "match-value": {
    type: "string",
    placeholder: "address",
    summary: "address, glob (sales-*@example.com) or regular expression (RE2)",
  },
  "action-type": {
    type: "string",
    placeholder: "type",
    choices: ["forward", "drop", "worker"],
    summary: "action of the rule",
  },
  "action-value": {
    type: "string",
    placeholder: "value",
    multiple: true,
    summary: "verified address or worker; several addresses require email.extended_rules",
  },
  priority: { type: "number", placeholder: "number", min: 0, summary: "priority: lower values match first" },
} as const satisfies Options;

interface RuleValues {
  name: string | undefined;
  enabled: "true" | "false" | undefined;
  "match-type": string | undefined;
  "match-field": string | undefined;
  "match-value": string | undefined;
  "action-type": string | undefined;
  "action-value": string[];
  priority: number | undefined;
}

/** Applies the options to the existing rule. */
export function buildRuleBody(
  values: RuleValues,
  before?: ApiRule,
): Omit<ApiRule, "id" | "priority" | "source"> & { priority?: number } {
  const priority = values.priority ?? before?.priority;
  return {
    name: values.name ?? before?.name ?? "",
    enabled: values.enabled === undefined ? (before?.enabled ?? true) : values.enabled === "true",
    matchers: matchers(values, before),
    actions: actions(values, before),
    ...(priority !== undefined && { priority }),
  };
}

function matchers(
  { "match-type": type, "match-field": field = "to", "match-value": value }: RuleValues,
  before: ApiRule | undefined,
): ApiRule["matchers"] {
  if (type === "all") return [{ type }];
  if (value !== undefined) return [{ type: type ?? "literal", field, value }];
  if (before !== undefined) return before.matchers;
  throw commandErrors.badContent({
    what: "--match-value",
    reason: "it is required",
    fix: "Specify the address that the rule matches: --match-value user@example.com",
  });
}

function actions(
  { "action-type": type, "action-value": value }: RuleValues,
  before: ApiRule | undefined,
): ApiRule["actions"] {
  if (type === undefined && before !== undefined)
    return value.length === 0 ? before.actions : [{ type: before.actions[0]!.type, value }];
  if (type === "drop") return [{ type }];
  if (type === undefined)
    throw commandErrors.badContent({
      what: "--action-type",
      reason: "it is required",
      fix: "Specify the action: --action-type forward, worker or drop",
    });
  if (value.length === 0)
    throw commandErrors.badContent({
      what: "--action-value",
      reason: `the action ${type} requires a value`,
      fix: type === "worker" ? "Specify the worker." : "Specify a verified address.",
    });
  return [{ type, value }];
}
