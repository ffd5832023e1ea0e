import type { Paint } from "../../kernel/paint.ts";
import { nameValueLines, formatUtcTime, table } from "../print.ts";

/** The displayed part of an API response. */
export interface ApiRoutingSettings {
  id: string;
  name: string;
  enabled: boolean;
  status: string;
  support_subaddress?: boolean;
  modified?: string;
  subdomains?: { name: string; enabled: boolean; status: string }[];
}

export interface ApiRule {
  id: string;
  name?: string;
  enabled: boolean;
  priority: number;
  matchers: { type: string; field?: string; value?: string }[];
  actions: { type: string; value?: string[] }[];
  source?: string;
}

export interface Address {
  id: string;
  email: string;
  verified: string | null;
  created: string;
}

export interface NeededDnsRecord {
  type: string;
  name: string;
  content: string;
  priority?: number;
}

export const routingLines = (
  { name, id, enabled, status, support_subaddress: tags, subdomains = [] }: ApiRoutingSettings,
  paint: Paint,
): string[] => [
  ...nameValueLines(
    [
      ["domain", name],
      ["zone", id],
      ["enabled", yesNo(enabled)],
      ["status", status],
      ["subaddresses", tags === undefined ? undefined : yesNo(tags)],
    ],
    paint,
  ),
  ...(subdomains.length === 0
    ? []
    : [
        "",
        ...table(
          ["subdomain", "enabled", "status"],
          subdomains.map((item) => [item.name, yesNo(item.enabled), item.status]),
          paint,
        ),
      ]),
];

export const ruleTable = (rules: readonly ApiRule[], paint: Paint): string[] =>
  table(
    ["id", "matches", "action", "enabled", "priority", "name"],
    rules.map((rule) => [
      rule.id,
      matchText(rule),
      actionText(rule),
      yesNo(rule.enabled),
      rule.priority,
      rule.name ?? "",
    ]),
    paint,
  );

export const ruleLines = (rule: ApiRule, paint: Paint): string[] =>
  nameValueLines(
    [
      ["rule", rule.id],
      ["name", rule.name],
      ["matches", matchText(rule)],
      ["action", actionText(rule)],
      ["enabled", yesNo(rule.enabled)],
      ["priority", String(rule.priority)],
      ["source", rule.source],
      [
        "note",
        literalStar(rule)
          ? "a literal matcher matches * literally; use --match-type glob to match any characters"
          : undefined,
      ],
    ],
    paint,
  );

export const addressTable = (addresses: readonly Address[], paint: Paint): string[] =>
  table(
    ["id", "address", "verified", "created"],
    addresses.map(({ id, email, verified, created }) => [
      id,
      email,
      verified === null ? "no" : formatUtcTime(verified),
      formatUtcTime(created),
    ]),
    paint,
  );

export const neededRecordTable = (records: readonly NeededDnsRecord[], paint: Paint): string[] =>
  table(
    ["type", "name", "priority", "content"],
    records.map(({ type, name, priority, content }) => [type, name, priority, content]),
    paint,
  );

function matchText({ matchers: [matcher] }: ApiRule): string {
  if (matcher?.type === "all") return "everything else";
  return matcher?.type === "glob" || matcher?.type === "regex"
    ? `${matcher.type} ${matcher.value ?? ""}`
    : (matcher?.value ?? "");
}
const literalStar = ({ matchers: [matcher] }: ApiRule) =>
  matcher?.type === "literal" && matcher.value?.includes("*") === true;
const actionText = ({ actions: [action] }: ApiRule) =>
  action === undefined ? "" : action.type === "drop" ? "drop" : `${action.type} to ${action.value?.join(", ") ?? ""}`;
export const yesNo = (value: boolean) => (value ? "yes" : "no");
