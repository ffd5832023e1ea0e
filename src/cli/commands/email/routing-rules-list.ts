import { collect, pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { ruleTable, type Rule } from "../../email/routing.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingRulesList = defineCommand({
  name: "email routing rules list",
  summary: "list the routing rules of a domain by priority",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing rules list example.com", "the catch-all rule comes last"]],
  async run(values, [domain], surroundings) {
    const { api, path } = await connectZone(domain!, values, surroundings);
    const rules = await collect(pagesOf<Rule>(api, `${path}/email/routing/rules`, { perPage: 50 }));
    printResult(surroundings, rules, (paint) => ruleTable(rules, paint));
    return 0;
  },
});
