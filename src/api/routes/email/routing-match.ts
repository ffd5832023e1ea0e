import { z } from "@hono/zod-openapi";
import type { Resolution } from "../../../mail/index.ts";

const WHY = [
  "literal",
  "subaddress",
  "pattern",
  "catch-all",
  "postmaster",
  "worker missing",
  "no rule",
  "not our domain",
  "not an address",
] as const satisfies Resolution["why"][];

export const matchSchema = z.object({
  address: z.string(),
  action: z.enum(["forward", "worker", "drop", "reject", "defer"]),
  value: z.array(z.string()),
  why: z.enum(WHY),
  explanation: z.string(),
  rule: z.object({ id: z.string(), name: z.string() }).nullable(),
});

/** Returns a sentence that explains why an address has its route. */
function explain(address: string, { why, rule }: Resolution): string {
  const name = rule === undefined || rule.name === "" ? "A rule" : `The rule "${rule.name}"`;
  switch (why) {
    case "literal":
      return `${name} matches exactly this address.`;
    case "subaddress":
      return `${name} matches the address without its tag.`;
    case "pattern":
      return `${name} has a pattern that matches this address.`;
    case "catch-all":
      return "No other rule matches, so the catch-all rule applies.";
    case "postmaster":
      return "Mail to postmaster is always accepted (RFC 5321 4.5.1).";
    case "worker missing":
      return `${name} matches, but its worker is not deployed: senders retry.`;
    case "no rule":
      return "No rule matches, and the catch-all rule is disabled: the address is rejected.";
    case "not our domain":
      return "This server does not receive mail for the domain: enable Email Routing for it.";
    case "not an address":
      return `${address} is not a valid email address.`;
  }
}

export function showMatch(address: string, resolution: Resolution): z.input<typeof matchSchema> {
  const { kind, why, rule, temporary } = resolution;
  return {
    address,
    action: temporary === true ? "defer" : kind === "none" || kind === "report" ? "reject" : kind,
    value:
      resolution.kind === "forward"
        ? resolution.to
        : resolution.kind === "worker"
          ? [resolution.script.slice(resolution.script.indexOf("/") + 1)]
          : [],
    why,
    explanation: explain(address, resolution),
    rule: rule ?? null,
  };
}
