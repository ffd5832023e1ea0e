import { z } from "@hono/zod-openapi";
import type { Rule } from "../../../mail/index.ts";
import { apiErrors } from "../../errors.ts";
import { hiddenZones } from "../../hidden-zones.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  accountRuleSchema,
  rulePartsOf,
  planBody,
  planSchema,
  ruleRequestOf,
  ruleBody,
  ruleSchema,
  showChange,
  showRule,
} from "./routing-schemas.ts";
import { matchSchema, showMatch } from "./routing-match.ts";
import type { EmailRoutingDeps } from "./routing-settings.ts";

const tag = "Email Routing routing rules";
const RULES_PATH = "/zones/{zone_id}/email/routing/rules";
const RULE_PATH = `${RULES_PATH}/{rule_identifier}`;
const CATCH_ALL = `${RULES_PATH}/catch_all`;
const ACCOUNT = "/accounts/{account_id}/email/routing/rules";
const enabled = z.enum(["true", "false"]).optional();
const direction = z.enum(["asc", "desc"]).default("asc");
const toBoolean = (text: "true" | "false" | undefined) => (text === undefined ? undefined : text === "true");

const AWAITS_DESTINATION = {
  code: 2054,
  message: "The rule is disabled until its destination address is verified; then it is enabled automatically.",
};
const STAR = {
  code: 2917,
  message:
    "A literal matcher compares the whole address: * matches only itself. To match any characters, set email.extended_rules on the server and use a matcher of type glob.",
};

function respondWithRule(rule: Rule) {
  const messages = [
    ...(rule.awaiting ? [AWAITS_DESTINATION] : []),
    ...(rule.matcher.type === "literal" && rule.matcher.value.includes("*") ? [STAR] : []),
  ];
  return respond(showRule(rule), messages.length > 0 ? { messages } : {});
}

export function routingRulesRoutes({ zones, routing: { rules, plan, resolve } }: EmailRoutingDeps): Route[] {
  const zoneOf = (params: Record<string, string>) => zones.get(params.zone_id!);

  return [
    route(
      {
        id: "email-routing-routing-rules-list-routing-rules",
        method: "get",
        path: RULES_PATH,
        tag,
        summary: "List routing rules, the catch-all rule last",
        permission: "Email Routing Rules Read",
        query: z.object({
          enabled,
          order: z.enum(["created", "priority"]).optional(),
          direction,
          ...pageQuery({ max: 50 }),
        }),
        result: z.array(ruleSchema),
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        return respondWithPage(
          await rules.list(
            await zoneOf(params),
            { enabled: toBoolean(query.enabled), order: query.order, direction: query.direction },
            page,
          ),
          page,
          showRule,
        );
      },
    ),
    route(
      {
        id: "email-routing-routing-rules-create-routing-rule",
        method: "post",
        path: RULES_PATH,
        tag,
        summary: "Create a routing rule",
        permission: "Email Routing Rules Write",
        body: ruleBody,
        result: ruleSchema,
      },
      async ({ params, body }) => respondWithRule(await rules.create(await zoneOf(params), ruleRequestOf(body))),
    ),
    route(
      {
        id: "email-routing-routing-rules-get-catch-all-rule",
        method: "get",
        path: CATCH_ALL,
        tag,
        summary: "Get the catch-all rule",
        permission: "Email Routing Rules Read",
        result: ruleSchema,
      },
      async ({ params }) => respondWithRule(await rules.catchAll(await zoneOf(params))),
    ),
    route(
      {
        id: "email-routing-routing-rules-update-catch-all-rule",
        method: "put",
        path: CATCH_ALL,
        tag,
        summary: "Replace the catch-all rule",
        permission: "Email Routing Rules Write",
        body: ruleBody,
        result: ruleSchema,
      },
      async ({ params, body }) =>
        respondWithRule(await rules.replaceCatchAll(await zoneOf(params), ruleRequestOf(body))),
    ),
    route(
      {
        id: "email-routing-rules-reorder",
        method: "put",
        path: "/zones/{zone_id}/email/routing/order",
        tag,
        summary: "Reorder routing rules: the listed ones come first, in this order",
        permission: "Email Routing Rules Write",
        body: z.object({ rules: z.array(z.string().max(32)).min(1).max(1000) }),
        result: z.array(ruleSchema),
      },
      async ({ params, body }) => respond((await rules.reorder(await zoneOf(params), body.rules)).map(showRule)),
    ),
    route(
      {
        id: "email-routing-match",
        method: "get",
        path: "/zones/{zone_id}/email/routing/match",
        tag,
        summary: "Find the routing rule that matches an address, without sending mail",
        permission: "Email Routing Rules Read",
        query: z.object({ address: z.string().min(1).max(320) }),
        result: matchSchema,
      },
      async ({ params, query: { address } }) => {
        const zone = await zoneOf(params);
        const resolution = await resolve(address);
        if (resolution.zone !== undefined && resolution.zone !== zone.id)
          throw apiErrors.badRequest({ reason: `${address} is not an address in ${zone.name}` });
        return respond(showMatch(address, resolution));
      },
    ),
    route(
      {
        id: "email-routing-routing-rules-get-routing-rule",
        method: "get",
        path: RULE_PATH,
        tag,
        summary: "Get a routing rule",
        permission: "Email Routing Rules Read",
        result: ruleSchema,
      },
      async ({ params }) => respondWithRule(await rules.get(await zoneOf(params), params.rule_identifier!)),
    ),
    route(
      {
        id: "email-routing-routing-rules-update-routing-rule",
        method: "put",
        path: RULE_PATH,
        tag,
        summary: "Replace a routing rule",
        permission: "Email Routing Rules Write",
        body: ruleBody,
        result: ruleSchema,
      },
      async ({ params, body }) =>
        respondWithRule(await rules.replace(await zoneOf(params), params.rule_identifier!, ruleRequestOf(body))),
    ),
    route(
      {
        id: "email-routing-routing-rules-delete-routing-rule",
        method: "delete",
        path: RULE_PATH,
        tag,
        summary: "Delete a routing rule",
        permission: "Email Routing Rules Write",
        result: ruleSchema,
      },
      async ({ params }) => respond(showRule(await rules.delete(await zoneOf(params), params.rule_identifier!))),
    ),

    route(
      {
        id: "email-routing-routing-rules-list-account-routing-rules",
        method: "get",
        path: ACCOUNT,
        tag,
        summary: "List the routing rules of an account's zones",
        permission: "Email Routing Rules Read",
        query: z.object({ enabled, direction, ...pageQuery({ max: 50 }) }),
        result: z.array(accountRuleSchema),
      },
      async ({ params: { account_id: account }, query, caller }) => {
        const page = pageRequest(query);
        const accountRules = await rules.ofAccount(
          account!,
          {
            enabled: toBoolean(query.enabled),
            direction: query.direction,
            hidden: hiddenZones(caller, account!, "Email Routing Rules Read"),
          },
          page,
        );
        const names = new Map(
          await Promise.all(
            [...new Set(accountRules.items.map(({ zone }) => zone))].map(
              async (id) => [id, (await zones.find(id))?.name ?? ""] as const,
            ),
          ),
        );
        return respondWithPage(accountRules, page, (rule) => ({
          ...showRule(rule),
          zone: { tag: rule.zone, name: names.get(rule.zone)! },
        }));
      },
    ),
    route(
      {
        id: "email-routing-routing-rules-plan-account-routing-rules",
        method: "post",
        path: `${ACCOUNT}/plan`,
        tag,
        permission: "Email Routing Rules Read",
        body: planBody,
        result: planSchema,
        summary: "Plan the rule changes required for a Worker to own these addresses; changes nothing",
        audit: false,
      },
      async ({ params: { account_id: account }, body, caller }) => {
        const catchAll = (body.catch_all_rules ?? []).map(({ target, rule }) => ({ target, rule: rulePartsOf(rule) }));
        const rulePlan = await plan(account!, {
          owner: body.owner_worker_tag,
          rules: (body.rules ?? []).map(rulePartsOf),
          catchAll,
          hidden: hiddenZones(caller, account!, "Email Routing Rules Read"),
        });
        return respond({
          zones: rulePlan.map(({ id, name, changes }) => ({
            zone_id: id,
            zone_name: name,
            changes: changes.map(showChange),
          })),
        });
      },
    ),
  ];
}
