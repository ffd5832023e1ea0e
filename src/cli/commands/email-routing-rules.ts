import { oneLine } from "../../kernel/text.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { ruleTable, type ApiRule, ruleLines } from "../email/routing.ts";
import { buildRuleBody, ruleOptions, CATCH_ALL } from "../email/rule-body.ts";
import { fetchRule, rulePath } from "../email/rule.ts";
import { connectZone, zoneOptions } from "../email/zone.ts";
import { commandErrors } from "../errors.ts";
import { printResult, table } from "../print.ts";
import { yesOption } from "../shared-options.ts";

const emailRoutingRulesList = defineCommand({
  name: "email routing rules list",
  summary: "list the routing rules of a domain by priority",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing rules list example.com", "the catch-all rule comes last"]],
  async run(values, [domain], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const rules = await collectItems(pagesOf<ApiRule>(api, `${path}/email/routing/rules`, { perPage: 50 }));
    printResult(context, rules, (paint) => ruleTable(rules, paint));
    return 0;
  },
});

const emailRoutingRulesGet = defineCommand({
  name: "email routing rules get",
  summary: "show a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: zoneOptions,
  examples: [["reelpost email routing rules get example.com catch-all", "the rule for all other addresses"]],
  async run(values, [domain, rule], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const found = await fetchRule(api, rulePath(path, rule!));
    printResult(context, found, (paint) => ruleLines(found, paint));
    return 0;
  },
});

const emailRoutingRulesCreate = defineCommand({
  name: "email routing rules create",
  summary: "create a routing rule",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: { ...ruleOptions, ...zoneOptions },
  examples: [
    [
      "reelpost email routing rules create example.com --match-value info@example.com --action-type worker --action-value inbox",
      "to a worker",
    ],
    [
      "reelpost email routing rules create example.com --match-value me@example.com --action-type forward --action-value me@example.net",
      "to a verified address",
    ],
  ],
  async run(values, [domain], context) {
    const body = buildRuleBody(values);
    const { api, path } = await connectZone(domain!, values, context);
    const rule = await api.result<ApiRule>("POST", `${path}/email/routing/rules`, { json: body });
    printResult(context, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});

const emailRoutingRulesUpdate = defineCommand({
  name: "email routing rules update",
  summary: "update a routing rule; omitted options keep their values",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: { ...ruleOptions, ...zoneOptions },
  examples: [
    [
      "reelpost email routing rules update example.com catch-all --action-type worker --action-value inbox --enabled true",
      "all other addresses to a worker",
    ],
  ],
  async run(values, [domain, name], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const ruleUrl = rulePath(path, name!);
    const body = buildRuleBody(values, await fetchRule(api, ruleUrl));
    const json = name === CATCH_ALL ? { ...body, matchers: [{ type: "all" }] } : body;
    await api.result("PUT", ruleUrl, { json });
    const rule = await fetchRule(api, ruleUrl);
    printResult(context, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});

const emailRoutingRulesDelete = defineCommand({
  name: "email routing rules delete",
  summary: "delete a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule", required: true },
  ],
  options: { ...yesOption, ...zoneOptions },
  examples: [
    ["reelpost email routing rules delete example.com 2f1c…", "the catch-all rule then applies to its address"],
  ],
  async run({ yes, ...values }, [domain, rule], context) {
    if (rule === CATCH_ALL)
      throw commandErrors.badContent({
        what: CATCH_ALL,
        reason: "every domain has this rule",
        fix: "Disable it: `reelpost email routing rules update <domain> catch-all --enabled false`",
      });
    const { api, path } = await connectZone(domain!, values, context);
    await confirm(`Delete the rule ${rule!} of ${domain!}?`, yes, context);
    await api.result("DELETE", rulePath(path, rule!));
    printResult(context, { id: rule, deleted: true }, () => [`Deleted ${rule!}`]);
    return 0;
  },
});

const emailRoutingRulesMatch = defineCommand({
  name: "email routing rules match",
  summary: "show which rule matches an address, without sending mail",
  arguments: [{ name: "address", summary: "address such as sales@example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing rules match sales@example.com", "the action, the rule and the reason"]],
  async run(values, [address], context) {
    const { api, path } = await connectZone(address!.slice(address!.lastIndexOf("@") + 1), values, context);
    const match = await api.result<{ action: string; value: string[]; explanation: string }>(
      "GET",
      `${path}/email/routing/match`,
      { query: { address } },
    );
    printResult(context, match, () => [
      [match.action, ...match.value].map((text) => oneLine(text)).join(" "),
      oneLine(match.explanation),
    ]);
    return 0;
  },
});

const emailRoutingRulesOrder = defineCommand({
  name: "email routing rules order",
  summary: "move the given rules to the top, in the given order",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    rule: { type: "string", placeholder: "id", multiple: true, summary: "id of a rule; the first one comes first" },
    ...zoneOptions,
  },
  examples: [["reelpost email routing rules order example.com --rule 7c1f… --rule 91ab…", "all others follow"]],
  async run({ rule, ...values }, [domain], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const rules = await api.result<{ id: string; name: string; priority: number }[]>(
      "PUT",
      `${path}/email/routing/order`,
      { json: { rules: rule } },
    );
    printResult(context, rules, (paint) =>
      table(
        ["priority", "id", "name"],
        rules.map(({ priority, id, name }) => [priority, id, name]),
        paint,
      ),
    );
    return 0;
  },
});

export const emailRoutingRuleCommands: readonly Command[] = [
  emailRoutingRulesList,
  emailRoutingRulesGet,
  emailRoutingRulesCreate,
  emailRoutingRulesUpdate,
  emailRoutingRulesDelete,
  emailRoutingRulesMatch,
  emailRoutingRulesOrder,
];
