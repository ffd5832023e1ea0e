import { defineCommand } from "../../command.ts";
import { readRule, rulePath } from "../../email/rule.ts";
import { ruleLines } from "../../email/routing.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingRulesGet = defineCommand({
  name: "email routing rules get",
  summary: "show a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: zoneOptions,
  examples: [["reelpost email routing rules get example.com catch-all", "the rule for all other addresses"]],
  async run(values, [domain, rule], surroundings) {
    const { api, path } = await connectZone(domain!, values, surroundings);
    const found = await readRule(api, rulePath(path, rule!));
    printResult(surroundings, found, (paint) => ruleLines(found, paint));
    return 0;
  },
});
