import { commandErrors } from "../errors.ts";

/** An access rule in a token; the first matching rule applies. */
interface AccessRule {
  type: "any" | "ip.src" | "ip.geoip.country";
  action: "allow" | "block";
  country?: string[];
  ip?: string[];
}

export const ruleOption = {
  rule: {
    type: "string",
    placeholder: "rule",
    multiple: true,
    summary:
      "access rules: allow:country:DE,AT, allow:ip:192.0.2.0/24 or block:any, up to five; the first match decides, and the default is allow",
  },
} as const;

export function parseAccessRule(text: string): AccessRule {
  const [, action, kind, list] = /^(allow|block):(any|country|ip)(?::(.+))?$/.exec(text) ?? [];
  const values = list?.split(",").map((value) => value.trim()) ?? [];
  if (action === undefined || (kind === "any") !== (values.length === 0) || values.includes("")) {
    throw commandErrors.badContent({
      what: `--rule ${text}`,
      reason: "it is not a valid rule",
      fix: "For example allow:country:DE,AT or block:ip:192.0.2.0/24,2001:db8::/32 or block:any",
    });
  }
  const rule = { action: action as AccessRule["action"] };
  if (kind === "any") return { ...rule, type: "any" };
  return kind === "ip"
    ? { ...rule, type: "ip.src", ip: values }
    : { ...rule, type: "ip.geoip.country", country: values.map((value) => value.toUpperCase()) };
}
