import { defineCommand } from "../../command.ts";
import { ruleLines, type Rule } from "../../email/routing.ts";
import { ruleBody, ruleOptions } from "../../email/rule-body.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingRulesCreate = defineCommand({
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
  async run(values, [domain], surroundings) {
    const body = ruleBody(values);
    const { api, path } = await connectZone(domain!, values, surroundings);
    const rule = await api.result<Rule>("POST", `${path}/email/routing/rules`, { json: body });
    printResult(surroundings, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});
